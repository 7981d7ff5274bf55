"""What people type wrong, and what they are told: a table of mistakes, and the folder in which each is made.

A row is a command line, the words that must be printed, and `=>` with the one command line that is proposed (`try:`), which a test pastes.
An indented line continues a row. Exit codes other than 2 of the mistake, and other than 0 of the proposed line, stand behind `->`.
`cd=FOLDER` begins in that folder. In words `IDS` and `ENDINGS` are lists of known names; in lines `LONG` is a name that no file system
takes, `CAFE` one that is not UTF-8.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from evalsuite.cli import main
from tests.cli.test_run import text_gold, text_submission, write_lines

LONG, CAFE = "x" * 300, os.fsdecode(b"caf\xe9")
IDS = "known: geo_001, geo_002, hr_001"
ENDINGS = ".csv, .html, .json, .md, .parquet, .svg, .txt, .xml"

COMMANDS = """
rnu | no command 'rnu' | did you mean 'run'?
'' | no command '' | known: init, what, example
--versoin | No such option: --versoin | did you mean '--version'? => --version
suite craete | suite has no command 'craete' | did you mean 'create'?
runs remove | runs has no command 'remove' | did you mean 'rm'?
connections tset | connections has no command 'tset' | did you mean 'test'? => connections test
CAFE | no command 'caf\\udce9'
score sub | no command 'score' | did you mean 'run'? => run sub
evaluate sub | no command 'evaluate' | did you mean 'run'? => run sub
test sub | no command 'test' => validate sub
diff a.csv b.csv | no command 'diff' | did you mean 'explain'? => explain a.csv b.csv -> 1
RUN sub | no command 'RUN' => run sub
leader subs | no command 'leader' => leaderboard subs
audit gold | no command 'audit' | did you mean 'gold audit'? => gold audit gold
errata gold | no command 'errata' => gold errata gold
list | no command 'list' | did you mean 'runs list'? => runs list
show one | no command 'show' | did you mean 'runs show'? => runs show one
tag one --add x | no command 'tag' | did you mean 'runs tag'? => runs tag one --add x
rm one | no command 'rm' | did you mean 'runs rm'? => runs rm one
try qa.csv | no command 'try' | questions, references and candidates
    => suite try qa.csv --input question --reference reference --candidate small --candidate large
history | no command 'history' => runs list
ui | no command 'ui' | did you mean 'view'? => view
version | no command 'version' | did you mean '--version'? => --version
help rnu | no command 'rnu' => run --help
help gold lnt | gold has no command 'lnt' => gold lint --help
suite lst | suite has no command 'lst' => suite list
gold chek gold | gold has no command 'chek' => gold check gold
qa.cvs | no command and no file 'qa.cvs' | did you mean 'qa.csv'? => qa.csv
references list | is no longer a command
"""
OPTIONS = """
run sub --ruls strict | No such option: --ruls | did you mean '--rules'? => run sub --rules strict
run sub --cache no | No such option: --cache | did you mean '--no-cache' or '--gold-cache'?
run sub --dur 3 | No such option: --dur | did you mean '--durations'? => run sub --durations 3
run sub --zzz | No such option: --zzz | known: --result-dir, --gold
run sub extra | unexpected argument 'extra' | evalsuite run [OPTIONS] [submission]
run | no submission folder given | evalsuite run FOLDER --gold gold
run sub --result_dir sub | given twice => run sub
run sub --jobs 0 | --jobs cannot be '0' | a number from 1 to 256, or auto
run sub --fail-under 70 | --fail-under must be between 0 and 1, found 70 | 0.8 means 80 % => run sub --fail-under 0.7 -> 1
run sub --fail-under nan | between 0 and 1
run sub --fail-under high | --fail-under: 'high' is not a number | --fail-under 0-1: exit 1 if the score is lower
run sub --limit seconds | --limit cannot be 'seconds' | NAME=VALUE
run sub --limit secnds=3 | unknown limit 'secnds' | did you mean 'seconds'? => run sub --limit seconds=3
run sub --limit seconds=-1 | limit 'seconds' must be a number above 0, found -1
run sub --isolation proces | --isolation cannot be 'proces' | known: process, none => run sub --isolation process
run sub --executor spark | no executor 'spark' | known: local, dask
run sub --scheduler tcp://x:1 | --scheduler is not used by --executor local | add --executor dask
run sub --executor dask --scheduler nonsense | --scheduler cannot be 'nonsense' | such as tcp://10.0.0.5:8786
run sub --shard 9/3 | --shard cannot be '9/3' | --shard 2/8 is the second of eight parts
run sub --durations -1 | --durations | N: also show the N slowest instances
run sub --as-of yesterday | --as-of cannot be 'yesterday' | write a day as
run sub --layout lite | not of the layout lite | leave --layout out
run sub --mode sql | --mode 'sql' is for the layouts lite and snow
run sub --reveal all | --reveal cannot be 'all' | known: none, status, class, shape, cells
run sub --json --github | --json and --github exclude each other
run sub --watch --resume one | --watch and --resume exclude each other
run sub --resume one --no-save | --resume and --no-save exclude each other
run sub --databases nowhere | --databases nowhere: no such folder
gold audit gold --databases nowhere | --databases nowhere: no such folder
verify one --databases nowhere | --databases nowhere: no such folder
runs drift --databases nowhere | --databases nowhere: no such folder
run sub --gold-cache bin.csv | --gold-cache bin.csv: not a folder
run foo://x | foo://x: unknown kind of URL
compare one two --alpha 2 | alpha must be between 0 and 1, found 2
agree one two --threshold nan | --threshold cannot be nan
agree one two --most -1 | --most cannot be -1
verify one --sample 0 | --sample must be at least 1, found 0
view --port 99999 | --port | PORT: the port to listen on
runs list --since yesterday | --since cannot be 'yesterday' | write a day as 2026-11-21
runs tag one --add '' | a tag cannot be blank
gold lint gold --format xml | --format cannot be 'xml' | known: text, json, github
gold audit gold --fail-under 70 | between 0 and 1 => gold audit gold --fail-under 0.7 -> 1
gold contamination gold | no file to compare with | --against FILE
suite create x | Missing option '--from' | a CSV, TSV, JSONL, JSON, Parquet or Excel file
check number_match --prediction 1 --gold 1 --prcision 2 | number_match has no option '--prcision' | did you mean '--precision'?
    => check number_match --prediction 1 --gold 1 --precision 2
check number_match --prediction 1 --gold 1 --precision x | --precision of number_match must be integer from -308 to 308, found 'x'
check string_match --prediction a --gold a --conj xor | must be 'and' or 'or', found 'xor'
run sub -rules strict | No such option: -r | two dashes: --rules => run sub --rules strict
run sub —rules strict | unexpected argument '—rules' | two dashes: --rules => run sub --rules strict
run sub –gold gold | unexpected argument '–gold' | two dashes: --gold => run sub --gold gold
run sub rules=strict | unexpected argument 'rules=strict' | two dashes: --rules=strict => run sub --rules=strict
run sub --durations few | --durations: 'few' is not a whole number | --durations N: also show
run sub --samples 1 | --samples: 1 is not in the range x>=2 | --samples N: N lines
run sub --rules=strikt | no rules 'strikt' | known: official, strict, bird-ex, test-suite => run sub --rules=strict
run sub --rules strikt | no rules 'strikt' | known: official, strict, bird-ex, test-suite => run sub --rules strict
run sub --rules STRICT | no rules 'STRICT' => run sub --rules strict
run sub --threshold 0.6 | No such option: --threshold | did you mean '--fail-under'? => run sub --fail-under 0.6
run sub --workers 2 | No such option: --workers | did you mean '--jobs'? => run sub --jobs 2
run sub -j 2 | No such option: -j | did you mean '--jobs'? => run sub --jobs 2
run --answers sub | No such option: --answers | did you mean '--result-dir'? => run --result-dir sub
run sub --no-chache | No such option: --no-chache => run sub --no-cache
run sub --fail_under | '--fail-under' requires an argument | --fail-under 0-1: exit 1 if the score is lower
run sub --rules | '--rules' requires an argument | official|strict
run sub --fail-under 60% | --fail-under: '60%' is not a number | did you mean '0.6'? => run sub --fail-under 0.6
run sub --reveal cell | --reveal cannot be 'cell' => run sub --reveal cells
run sub --executor Local | no executor 'Local' => run sub --executor local
run sub --isolation None | --isolation cannot be 'None' => run sub --isolation none
run sub --layout Original | no layout 'Original' => run sub --layout original
run sub -o page.htm | no report format for 'page.htm' | did you mean 'page.html'? => run sub -o page.html
run sub --judge nowhere.yaml | nowhere.yaml: no such file | judge.yaml
check geo_001 --result_dir sub --judge nowhere.yaml | nowhere.yaml: no such file | judge.yaml
check geo_001 --result_dir sub --gold '' | --gold is empty
explain geo_002 --run one --rule strict | No such option: --rule => explain geo_002 --run one --rules strict
bundle geo_001 sub | unexpected argument 'sub' | --result-dir sub => bundle geo_001 --result-dir sub
check sub geo_001 | unknown scorer 'sub' | --result-dir sub => check --result-dir sub geo_001
explain one geo_002 | geo_002 is no file that can be compared | --run one => explain --run one geo_002
--gold gold run sub | No such option: --gold | the command comes first => run sub --gold gold
-q run sub --gold gold | No such option: -q | the command comes first => run sub --gold gold -q
check number_match 17 17 | '17' belongs to no option => check number_match --prediction 17 --gold 17
leaderboard subs --by scorers | --by cannot be 'scorers' => leaderboard subs --by scorer
gold lint gold --ignore unknwn-scorer | --ignore cannot be 'unknwn-scorer' => gold lint gold --ignore unknown-scorer
doctor --jsn | No such option: --jsn => doctor --json
rescore one --rules strikt | no rules 'strikt' => rescore one --rules strict
suite create s2 questions.csv --scorer f1 | Missing option '--from' | --from questions.csv
    => suite create s2 --from questions.csv --scorer f1
suite try qa.csv --scorer string_match | Missing option '--candidate' | questions, references and candidates
    => suite try qa.csv --input question --reference reference --candidate small --candidate large --scorer string_match
suite try qa.csv --input question --candidate small --parameter ignore_case | NAME=VALUE
explain | Missing argument
bundle | Missing argument 'ID'
run sub --lf --only geo_001 | --lf chooses the instances itself
run sub --json --watch | --json and --watch exclude each other
run sub --no-save --out mine | --out and --no-save exclude each other
run sub --gold '' | --gold is empty
run sub --output a.md --output '' | --output is empty
run sub --result_dir '' | the submission folder is given twice => run sub
gold lint gold --write | --write needs --fix
gold check gold --fail-under 7 | --fail-under must be between 0 and 1 => gold check gold --fail-under 0.07
compare one two --cluster m: | no group begins with 'm:'
compare sub s_stranger | answers none of the 3 instances
compare one+ two | a sample has no name
samples one twoo | no finished run 'twoo' => samples one two
check string_match --prediction x --prediction y --gold x | --prediction is given 2 times
check number_match --prediction x --gold x | gold is not a finite number
check sting_match --prediction x --gold x | did you mean 'string_match'? => check string_match --prediction x --gold x
cd=empty check geo_001 --gold_dir gold | no submission folder given
check geo_001 --result_dir sub --percentage | '--percentage' is not used with an instance
check geo_001 --result_dir sub --gold a --gold_dir b | the gold folder is given twice
check --percentage number_match | '--percentage' is before the name | the name of the scorer or instance comes first
check string_match --prediction x --gold x --jsn | did you mean '--json'? => check string_match --prediction x --gold x --json
check string_match --prediction x --gold x --fail-under 2 | must be between 0 and 1
    => check string_match --prediction x --gold x --fail-under 0.02
suite try qa.csv --candidate small --candidate small --input question --reference reference | --candidate names a column twice
suite try qa.csv --candidate small --input question --reference reference --scorer string_mtch | did you mean 'string_match'?
    => suite try qa.csv --candidate small --input question --reference reference --scorer string_match
suite try qa.csv --candidate small --input question --reference reference --fail-under 50 | --fail-under
    => suite try qa.csv --candidate small --input question --reference reference --fail-under 0.5
"""
IDS_AND_FILTERS = """
run sub --only nope | no instance 'nope' in gold | IDS
run sub --only geo_01 | no instance 'geo_01' in gold | did you mean 'geo_001'? => run sub --only geo_001
run sub --only , | --only ',' names no instance
run sub --filter 'zzz*' | no instance in gold matches 'zzz*' | IDS
run sub --filter '' | no instance in gold matches '' | IDS
run sub --only geo_001 --filter 'hr*' | no instance of those named by --only or --group matches 'hr*' | known: geo_001
run sub --group nope | no group 'nope' in this suite | known: places
run sub --group '' | no group '' in this suite | known: places
run sub --only hr_001 --group places | is in the group 'places'
run sub --only CAFE | no instance 'caf\\udce9' in gold
run sub --lf --gold other | no earlier run of other | run without --lf first
check nope --result_dir sub | no instance 'nope' in gold | IDS
bundle nope --run one | no instance 'nope' in gold | IDS
gold audit gold --only nope | no instance 'nope' in gold | IDS
runs list --tag ''                                      -> 0 | none of 2 runs in .evalsuite/runs matches --tag ''
runs list --suite 'zzz*'                                -> 0 | none of 2 runs in .evalsuite/runs matches --suite 'zzz*'
sql "select * from result" | Table with name result does not exist | results
sql "drop table results" | only one SELECT statement is allowed | tables: runs, results, fields
sql "select 1" --runs nowhere                           -> 0 | note: no runs in nowhere
connections test nope | no connection 'nope'
run sub --only GEO_001 | no instance 'GEO_001' in gold | did you mean 'geo_001'? => run sub --only geo_001
run sub --only geo_001 hr_001 | unexpected argument 'hr_001' | commas between them => run sub --only geo_001,hr_001
run sub --only hr_001,geo_01 | no instance 'geo_01' in gold => run sub --only hr_001,geo_001
bundle geo_01 --run one | no instance 'geo_01' in gold => bundle geo_001 --run one
explain geo_01 --run one | no instance 'geo_01' in gold => explain geo_001 --run one
gold audit gold --only geo_01 | no instance 'geo_01' in gold => gold audit gold --only geo_001
gold errata gold --entry geo_01 | no instance 'geo_01' in gold => gold errata gold --entry geo_001
suite show capitls | no suite 'capitls' | did you mean 'capitals'? => suite show capitals
suite delete nope | no suite 'nope' | known: capitals
report 2026 | no finished run '2026' | did you mean
sql "select offcial from results" | Referenced column "offcial" not found | official
"""
SCORERS = """
scorers table | unknown scorer 'table' | did you mean 'table_match'? => scorers table_match
scorers TABLE_MATCH | unknown scorer 'TABLE_MATCH' | did you mean 'table_match'? => scorers table_match
scorers judge | unknown scorer 'judge' | did you mean 'llm_judge'? => scorers llm_judge
scorers nope | unknown scorer 'nope' | known: string_match, number_match, table_match
check geo_01 | 'geo_01' is no scorer, and no instance of the last run | did you mean 'geo_001'? => check geo_001
check nope | unknown scorer 'nope' | for an instance add --result_dir FOLDER
check string_match --prediction a | no gold given | evalsuite check string_match --prediction TEXT --gold TEXT
check string_match --gold a | no prediction given
check string_match --prediction a --gold a --explain | --explain needs a submission
check number_match --prediction 1 --gold 1 --precision 99999999999999 | integer from -308 to 308, found '99999999999999'
suite create x --from questions.csv --scorer string | unknown scorer 'string' | did you mean 'string_match'?
    => suite create x --from questions.csv --scorer string_match
suite create x --from questions.csv --scorer table_match | table_match compares files, the cases of a suite are texts
"""
FOLDERS = """
run . | no results_metadata.jsonl in . | did you mean 'my answers' or 's_array' or 's_comma'?
run nowhere | nowhere: no such submission folder | contains results_metadata.jsonl
run gold | no results_metadata.jsonl in gold | so it is gold => gold check gold
run other | no results_metadata.jsonl in other | this one contains readme.txt
run bin.csv | bin.csv: not a folder
run LONG | cannot be read: File name too long
run sub --gold sub | sub: no *_eval.jsonl file | so it is a submission => run sub --gold gold
run sub --gold nowhere | nowhere: no such gold folder | contains *_eval.jsonl, or name it with --gold => run sub --gold gold
run sub --gold semi.csv | semi.csv:1: not valid JSON | a file of questions and references becomes a suite
run sub --gold LONG | cannot be read: File name too long
run sub --out gold | gold is not empty and not a run folder => run sub --out gold_2
run sub --out bin.csv | bin.csv is a file, not a folder
run sub --resume nowhere | nowhere is not a run folder
run sub --resume one | one is a finished run
run sub --plugin nowhere.py | nowhere.py: no such plugin file
run sub --plugin semi.csv | semi.csv: not a Python file | ends in .py
run sub --plugin LONG.py | File name too long
validate gold | no results_metadata.jsonl in gold | so it is gold => gold check gold
validate sub --gold other | other: no *_eval.jsonl file
explain geo_001 --run sub | sub is a submission, not a run | evalsuite run sub => run sub
report nowhere | no finished run 'nowhere' | known:
report gold | no finished run 'gold' => gold check gold
report one --runs nowhere                               -> 0
report nowhere --runs other | no finished run 'nowhere' | no runs in other
verify gold | no finished run in gold => gold check gold
rescore one --submission nowhere | nowhere: no such submission folder
merge one --out whole | one is the run of no shard | run --shard i/n
merge other --out whole | no finished run in other
compare one bin.csv --gold gold | bin.csv: not a folder | to run a file of answers against a suite
compare one | a comparison needs two runs | evalsuite compare BASELINE CANDIDATE
compare one sub --gold sub | sub: no *_eval.jsonl file | so it is a submission => compare one sub --gold gold
leaderboard nowhere | nowhere: no such folder | name folders of submissions or of runs
leaderboard bin.csv | bin.csv: not a folder
leaderboard gold | gold: no submission and no finished run in it => gold check gold
leaderboard sub empty                                   -> 1 | 1 could not be read (exit 1)
gold check sub | sub: no *_eval.jsonl file | so it is a submission => run sub --gold gold
gold check g_none | g_none/toy_eval.jsonl: no instance in it
leaderboard sub --gold g_none | g_none/toy_eval.jsonl: no instance in it
gold lint nowhere | nowhere: no such gold folder | give the folder that contains *_eval.jsonl
gold convert gold --out new | gold is in the original layout already
gold suspects one | suspects needs runs of at least two submissions
gold contamination gold --against nowhere | no such file: nowhere
gold contamination gold --against /dev/zero | /dev/zero: a pipe, socket or device is where a file is needed
what '' | no such file or folder: ''
connections list --gold bin.csv | no folder bin.csv
view nowhere | nowhere: no such folder
view bin.csv | bin.csv: not a folder
suite run nope --from answers.csv | no suite 'nope' | known: capitals
suite create '' --from questions.csv --scorer f1 | a suite needs a name
suite create capitals --from questions.csv --scorer f1 | there is a suite 'capitals' already
    => suite create capitals_2 --from questions.csv --scorer f1
suite import gold | gold: no suite in it
runs rm sub | sub is a submission, not a run => run sub
sql "select 1" --runs LONG | File name too long
run sub gold | unexpected argument 'gold' => run sub --gold gold
run gold sub | unexpected argument 'sub' => run sub --gold gold
run my answers | unexpected argument 'answers' | put a name with spaces in quotes: 'my answers' => run 'my answers'
run subb | subb: no such submission folder | did you mean 'sub'? => run sub
run sub\\\\ | no such submission folder | did you mean 'sub'? => run sub
rescore one --rules bird-ex | --rules bird-ex is not what one says | the ending of the gold file decides
compare one two --rules test-suite | --rules test-suite is not what one says
run subs | no results_metadata.jsonl in subs | did you mean 'subs/x' or 'subs/y'?
run sub/results_metadata.jsonl | sub/results_metadata.jsonl: not a folder => run sub --gold gold
run empty | no results_metadata.jsonl in empty | this one contains nothing
run s_upper | found Results_Metadata.jsonl, expected results_metadata.jsonl
run s_txt | found results_metadata.jsonl.txt, expected results_metadata.jsonl
run sub --gold golds | golds: no such gold folder | did you mean 'gold'? => run sub --gold gold
run sub --gold gold/suite.yaml | gold/suite.yaml:1: not valid JSON => run sub --gold gold
run sub --gold g_two | several *_eval.jsonl files | name one: g_two/other_eval.jsonl
run qa.csv | qa.csv: not a folder | questions, references and candidates
    => suite try qa.csv --input question --reference reference --candidate small --candidate large
compare a.csv b.csv | a.csv: not a folder | a.csv, b.csv: a table => explain a.csv b.csv -> 1
compare sub gold | no results_metadata.jsonl in gold => run sub --gold gold
explain qa.csv | no instance 'qa.csv' | questions, references and candidates
    => suite try qa.csv --input question --reference reference --candidate small --candidate large
explain a.csv answer.csv | no such file: answer.csv | did you mean 'answers.csv'? => explain a.csv answers.csv -> 1
explain sub gold | contains no .json file
check a.csv b.csv | unknown scorer 'a.csv' | a table => explain a.csv b.csv -> 1
check gold | unknown scorer 'gold' => gold check gold
check geo_001 sub | 'sub' is not used with an instance | --result-dir sub => check geo_001 --result-dir sub
check tree_match --prediction json --gold json2 | json: a folder is where JSON is needed | a .json or .jsonl file in it
    => explain json json2 -> 1
check table_match --prediction a.csv --gold json | json: a folder is where a file is needed
report sub | sub is a submission, not a run => run sub
report onee | no finished run 'onee' | did you mean 'one'? => report one
report one/run.json | no finished run 'one/run.json' => report one
report one two | unexpected argument 'two' => compare one two
compare on two | no finished run 'on' | did you mean 'one'? => compare one two
gold sub | gold has no command 'sub' | the folder is ./gold => ./gold sub
init tables | unexpected argument 'tables' | --gold-from tables => init --gold-from tables
init --gold-from a.csv | a.csv: not a folder
init --gold-from empty | empty: no CSV file in it
json | contains JSON records, without others to compare them with | evalsuite explain RIGHT json
empty | cannot tell what empty is: it is empty
one gold | cannot tell what to do with one (a saved run), gold (a gold folder) | evalsuite report one; or
sub gold a.csv | cannot tell what to do with sub (a submission) => run sub --gold gold
sub gold gold2 | run sub --gold gold; or
import one | one: a folder => report one
import a.csv | a.csv:1: not valid JSON | known: results of promptfoo
cd=sub run . | gold: no such gold folder => run . --gold ../gold
cd=gold run ../sub | gold: no such gold folder => run ../sub --gold .
cd=subs/x report | there is none in .evalsuite/runs
cd=bench run sub | gold: no such gold folder => run sub --gold truth
cd=bench validate sub truth | unexpected argument 'truth' => validate sub --gold truth
cd=bench explain geo_001 sub truth | unexpected argument => explain geo_001 --result-dir sub --gold truth
init gold | unexpected argument 'gold' => gold check gold
cd=bench check geo_001 sub truth | unknown scorer 'geo_001' => check geo_001 --result-dir sub --gold truth
"""
FILES = """
run sub -o x.xlsx | no report format for 'x.xlsx' | ENDINGS
run sub -o x | no report format for 'x' | ENDINGS
run sub -o x.HTML | no report format for 'x.HTML' | did you mean 'x.html'? => run sub -o x.html
run sub -o bin.csv/x.html | cannot write bin.csv/x.html: Not a directory
run sub -o folder.html | cannot write folder.html: expected a file, found a folder
report one -o a.html -o ./a.html | --output names a.html twice
report one -o one/run.json/y/x.csv | cannot write one/run.json/y/x.csv: Not a directory
explain geo_001 --run one -o x | no report format for 'x' | ENDINGS
margins one -o x.xlsx | no report format for 'x.xlsx' | ENDINGS
drift one -o x.xlsx | no report format for 'x.xlsx' | ENDINGS
bundle geo_002 --run one -o other | other is not an empty folder | name a new folder, or FILE.md => bundle geo_002 --run one -o other_2
suite export capitals other | cannot write other: expected a file, found a folder
suite create x --from nowhere.csv --scorer f1 | nowhere.csv: cannot be read as CSV: no such file | a CSV file in UTF-8
suite create x --from other --scorer f1 | other: its ending is none of .csv, .tsv | a CSV, TSV, JSONL, JSON, Parquet or Excel file
suite create x --from bin.csv --scorer f1 | bin.csv: cannot be read as CSV: not UTF-8
suite create x --from semi.csv --scorer f1 | the data has no input column 'input' | known: instance_id, label
suite create x --from bad.parquet --scorer f1 | not a readable Parquet file | a CSV, TSV, JSONL, JSON, Parquet or Excel file
suite create x --from questions.csv --scorer f1 --input-column q | no input column 'q' | known: input, reference_output
suite run capitals --from questions.csv | no candidate column 'candidate_output' | --candidate
suite run capitals again --from answers.csv --from answers.csv | one name 'again' for 2 runs
suite run capitals --from semi.csv --from bin.csv | delimiter | not UTF-8 | 2 of 2 files could not be run (exit 2)
suite import bin.csv | bin.csv: not a JSON file
agree one nowhere.csv | nowhere.csv: cannot be read as CSV: no such file
agree one semi.csv | delimiter
agree one questions.csv | no column 'instance_id' | needed: instance_id and label
leaderboard sub --metadata questions.csv | no column 'submission' | found: input, reference_output
schema infer nowhere.json | MISSING_FILE: nowhere.json
schema resolve questions.csv | BAD_JSON
schema check bin.csv --gold bin.csv | BAD_ENCODING
check table_match --prediction nowhere.csv --gold semi.csv | MISSING_FILE: nowhere.csv
check table_match --prediction other --gold semi.csv | a folder is where a file is needed
check table_match --prediction semi.csv --gold questions.csv -> 0 | 'instance_id;label' is one column | delimiter
check llm_judge --prediction a --gold b --judge bin.csv | bin.csv: not readable as UTF-8 text
check number_match --prediction @nowhere --gold 1 | MISSING_FILE: nowhere
suite try qa.csv --input Question --candidate small | no input column 'Question' | did you mean 'question'?
    => suite try qa.csv --input question --candidate small
suite try qa.csv --input question --reference References --candidate small | no reference column 'References'
    => suite try qa.csv --input question --reference reference --candidate small
suite try qa.csv --candidate smal | no input column 'input'
    => suite try qa.csv --input question --reference reference --candidate small --candidate large
suite create s2 --from qa.csv --scorer string_match | no input column 'input' | questions, references and candidates
    => suite create s2 --from qa.csv --scorer string_match --input question --reference reference
latin.csv | its text is not UTF-8, first in line 2 | iconv -f LATIN1 -t UTF-8 latin.csv
empty.csv | cannot tell what empty.csv is: it is empty
text.parquet | its name ends in .parquet, but it is no Parquet file
nohead.csv | without a known column | suite try nohead.csv
nr.csv | without a known column | suite try nr.csv --input Frage --reference Antwort --candidate Modell
a.csv | is one table, without a known column | evalsuite explain RIGHT.csv a.csv
cut.jsonl | line 2 is not valid JSON: it ends early, as if it was cut
long.jsonl | its first record is longer than 1 MiB
suite create s2 --from cut.jsonl --scorer f1 | cut.jsonl:2: not valid JSON: it ends early, as if it was cut
schema infer a.csv | a.csv: line 1: not valid JSON at column 1
run s_cut -> 0 | results_metadata.jsonl:2: BAD_METADATA: not valid JSON at column 43: it ends early, as if it was cut
validate s_cut -> 1 | results_metadata.jsonl:2: geo_002: BAD_METADATA | it ends early | not ready: 1 problem
run s_quotes -> 5 | results_metadata.jsonl:1: BAD_METADATA: not valid JSON at column 2: texts need double quotes
run s_comma -> 0 | results_metadata.jsonl:1: BAD_METADATA: not valid JSON at column 79: a comma before }
run s_json -> 0 | results_metadata.json is read as results_metadata.jsonl
run s_array -> 0 | a JSON array is read as one object per element
run s_noid -> 5 | results_metadata.jsonl:1: BAD_METADATA: instance_id is missing | key 'id' is not read (1 entry)
run s_key -> 0 | results_metadata.jsonl:1: key 'answer' is not read (1 entry); did you mean 'answer_type' or 'answer_or_path'?
run s_dup -> 0 | DUPLICATE_ID
run s_unknown -> 0 | results_metadata.jsonl:2: 'geo_01' is not in gold (UNKNOWN_ID)
validate s_type -> 1 | answer_type must be answer, file or files, found 'text'
validate s_up -> 1 | BAD_PATH
validate s_nofile -> 1 | MISSING_FILE
validate s_unknown --gold gold -> 1 | did you mean 'geo_001'?
run s_utf16 | BAD_ENCODING: the text is UTF-16, not UTF-8 | save the file as text in UTF-8
run s_latin -> 0 | results_metadata.jsonl:1: BAD_ENCODING: byte 73 of line 1 is not UTF-8
run sub --gold g_scorer | g_scorer/toy_eval.jsonl:1: unknown scorer 'strng_match' | did you mean 'string_match'?
run sub --gold g_param -> 2 | g_param/toy_eval.jsonl:1: unknown parameter 'precison' of number_match (did you mean 'precision'?)
run sub --gold g_ptype -> 2 | parameter 'precision' of number_match must be integer from -308 to 308, found str
run sub --gold g_noeval | g_noeval/toy_eval.jsonl:1: geo_001: evaluation is missing
run sub --gold g_cut | g_cut/toy_eval.jsonl:2: not valid JSON at column 55: it ends early, as if it was cut
run sub --gold g_dup | g_dup/toy_eval.jsonl:2: instance 'geo_001' is repeated, first on line 1
run sub --gold g_yaml | g_yaml/suite.yaml:2: not valid YAML
run sub --gold g_ykey | g_ykey/suite.yaml:1: unknown key 'ruls' | did you mean 'rules'?
run sub --gold g_yrule | rules must be official or strict, found 'strikt' | did you mean 'strict'?
gold check g_file -> 1 | g_file/toy_eval.jsonl:1: geo_001: table_match, official+strict: MISSING_FILE
gold lint g_scorer -> 1 | g_scorer/toy_eval.jsonl:1: error unknown-scorer | did you mean 'string_match'?
connections list --gold g_conn | g_conn/connections.yaml:1: connection 'local' must be a mapping with an engine
"""
AGAIN = """
example ex | ex exists already | name a new folder => example ex_2
init --gold-from tables --to made | made exists already => init --gold-from tables --to made_2
keys new key | key exists already | a key is never replaced => keys new key_2
suite run capitals --from answers.csv | the suite 'capitals' already has a run 'answers' | choose another run name
run sub --out other | other is not empty and not a run folder => run sub --out other_2
run sub --out sub | sub is a submission, not a run folder => run sub --out sub_2
init --gold-from tables --questions device.csv --out new | device.csv: a pipe, socket or device is where a file is needed
report one --labels device.csv | device.csv: a pipe, socket or device is where a file is needed
suite create p --from device.csv --scorer f1 | device.csv: a pipe, socket or device is where a file is needed
explain a.csv device.csv | device.csv: a pipe, socket or device is where a file is needed
verify one --key device.csv | device.csv: a pipe, socket or device is where a file is needed
verify one --key key | key: not a public key | did you mean 'key.pub'? => verify one --key key.pub -> 1
check tree_match --prediction nope.txt --gold '{}' | 'nope.txt' is no JSON, and no name of a file that ends in .json or .jsonl
check string_match --prediction @loop --gold x | MISSING_FILE: loop: the link leads to itself
check duckdb_match --prediction nope.duckdb --gold nope.duckdb | MISSING_FILE: nope.duckdb: the file is not there
explain one two | 'explain' compares files: one and two are runs | did you mean 'compare'? => compare one two
explain a.csv subs | a.csv is a file, the other side is a folder | compare two files, or two folders of .json files
check geo_001 --run '' | no finished run ''
run sub --plugin gold | gold: not a file
judge test --judge gold | gold: not a file
verify nope | no finished run 'nope' | known:
renamed.jsonl | cannot tell what renamed.jsonl is: its lines are those of results_metadata.jsonl: give it that name
run loop | a link that leads to itself
check table_match --prediction - --gold a.csv | table_match reads a file, not stdin | name it: --prediction FILE
report stopped | stopped is an unfinished run | `evalsuite run FOLDER --resume stopped` finishes it
runs prune | no policy given | --keep N, --unfinished or both
leaderboard stopped | stopped is an unfinished run
stopped | cannot tell what stopped is: it is an unfinished run
run 'my answers' --resume stopped | stopped
report cut_run | cut_run is a damaged run: run.json: not a JSON object | copy it again
compare one cut_run | cut_run is a damaged run: run.json: not a JSON object
verify blocked | blocked: Input/output error | when the disk answers
report blocked | blocked/run.json: Input/output error | when the disk answers
report blocked_rows | blocked_rows/results.jsonl: Input/output error | when the disk answers
report cut_results | cut_results/results.jsonl:3: no result that a run wrote | damaged or half copied
compare one strict_run | one and strict_run are not comparable: rules official against strict | --rules official or --rules strict
compare one run2 | one and run2 are not comparable: gold | 1 of 3 cases differs, first 'geo_002' => compare sub sub --gold gold2
leaderboard one run2 | these runs cannot be ranked together: they differ in gold
leaderboard one strict_run | they differ in rules: official (1), strict (1) | rescore RUN --rules
rescore one --gold gold2 | does not contain what one scored
merge one two --out whole | one is the run of no shard
merge one two --out one | one is one of the shards: the merged run would replace it | name a new folder with --out
samples one | samples need two or more
agree one | Missing argument 'rater_b'
"""


class Mistake(NamedTuple):
    """A row: the line, its exit code, the words that are printed, the proposed line (empty for none) and its exit code."""

    line: str
    code: int
    words: list[str]
    cure: str
    cure_code: int


def mistakes() -> list[Mistake]:
    """All rows of the tables."""
    rows = []
    for table in (COMMANDS, OPTIONS, IDS_AND_FILTERS, SCORERS, FOLDERS, FILES, AGAIN):
        for row in table.replace("\n    |", " |").replace("\n    =>", " =>").strip().splitlines():
            row, _, proposed = row.partition(" => ")
            first, *words = (part.strip() for part in row.split(" | "))
            (line, code), (cure, cure_code) = _with_code(first, 2), _with_code(proposed, 0)
            rows.append(Mistake(line, code, words, cure, cure_code))
    return rows


def _with_code(text: str, usual: int) -> tuple[str, int]:
    line, _, code = text.partition(" -> ")
    return line.strip(), int(code or usual)


def make_place(folder: Path) -> None:
    """Gold, submissions, runs, a suite, and files of every wrong kind."""
    text_gold(folder / "gold", geo_001="Paris", geo_002="Rome", hr_001="Oslo")
    (folder / "gold" / "suite.yaml").write_text("groups: {places: {prefix: geo_}}\n")
    text_gold(folder / "gold2", geo_001="Paris", geo_002="Bern", hr_001="Oslo")
    text_submission(folder / "sub", geo_001="It is Paris", geo_002="It is Bern", hr_001="Oslo")
    text_gold(folder / "bench" / "truth", geo_001="Paris")
    text_submission(folder / "bench" / "sub", geo_001="It is Paris")
    text_submission(folder / "my answers", geo_001="It is Paris", geo_002="Rome")
    for name in ("x", "y"):
        text_submission(folder / "subs" / name, geo_001="It is Paris" if name == "x" else "It is Lyon")
    for name in ("empty", "folder.html", "json", "json2", "other", "tables"):
        (folder / name).mkdir()
    for name, content in FILES_OF_PLACE.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, (file, rows) in SUBMISSIONS.items():
        (folder / name).mkdir()
        (folder / name / file).write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    for name, rows in GOLDS.items():
        write_lines(folder / name / "toy_eval.jsonl", *rows)
    write_lines(folder / "g_two" / "other_eval.jsonl", ENTRY)
    for name, text in SUITE_FILES.items():
        (folder / name).write_text(text)


def make_runs(folder: Path) -> None:
    """What commands leave in the folder, which is the working folder: runs, one stopped, two damaged; a suite, an example, a key."""
    run = ["run", "sub", "--isolation", "none", "-q"]
    for words in (
        ["suite", "create", "capitals", "--from", "questions.csv", "--scorer", "f1"],
        ["suite", "run", "capitals", "--from", "answers.csv"],
        # The last run, also if both begin in one second.
        run,
        *([*run, "--out", name] for name in ("one", "two")),
        [*run, "--rules", "strict", "--out", "strict_run"],
        [*run, "--gold", "gold2", "--out", "run2"],
        ["example", "ex"],
        ["init", "--gold-from", "tables", "--to", "made"],
        ["keys", "new", "key"],
    ):
        assert main(words) == 0, words
    assert main([*run, "-x", "--jobs", "1", "--out", "stopped"]) == 1
    (folder / "device.csv").symlink_to("/dev/null")
    (folder / "loop").symlink_to("loop")
    # A file that the system opens and does not read: Input/output error.
    for name, lost in (("blocked", "run.json"), ("blocked_rows", "results.jsonl")):
        shutil.copytree(folder / "one", folder / name)
        (folder / name / lost).unlink()
        (folder / name / lost).symlink_to("/proc/self/mem")
    for name, cut in (("cut_run", "run.json"), ("cut_results", "results.jsonl")):
        shutil.copytree(folder / "one", folder / name)
        text = (folder / "one" / cut).read_text()
        (folder / name / cut).write_text(text[: len(text) - 40])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


QA = "question,reference,small,large\nFrance?,Paris,Paris,Lyon\nItaly?,Rome,Rome,Rome\nNorway?,Oslo,Oslo,Oslo"
FILES_OF_PLACE: dict[str, str | bytes] = {
    "other/readme.txt": "nothing to score here",
    "renamed.jsonl": '{"instance_id": "geo_001", "answer_type": "answer", "answer_or_path": "Paris"}',
    "bin.csv": b"\xff\xfe\x00\n",
    "bad.parquet": b"PAR1 PAR1",
    "text.parquet": QA,
    "semi.csv": "instance_id;label\ngeo_001;1\n",
    "questions.csv": "input,reference_output\nCapital of France?,Paris\n",
    "answers.csv": "candidate_output\nParis\n",
    "qa.csv": QA,
    "latin.csv": "question,reference,small\nÜber?,ä,ä\n".encode("cp1252"),
    "nohead.csv": "Capital of France?,Paris,Paris\nCapital of Italy?,Rome,Rome\n",
    "nr.csv": "Nr,Frage,Antwort,Modell\n1,Hauptstadt?,Rom,Rom\n",
    "empty.csv": "",
    "long.jsonl": '{"input": "' + "x" * (1 << 20) + '"}\n',
    "cut.jsonl": '{"input": "q", "reference_output": "a"}\n{"input": "q2", "refer',
    "cut.json": '{"results": {"version": 3, "resul',
    "a.csv": "customer,total\nAbebe,120.5\nBruun,80.0\n",
    "b.csv": "customer,total\nAbebe,120.5\nBruun,81.0\n",
    "json/d1.json": '{"a": 1, "b": "x"}',
    "json2/d1.json": '{"a": 2, "b": "x"}',
    "tables/t1.csv": "a,b\n1,2\n",
}
ANSWER = {"instance_id": "geo_001", "answer_type": "answer", "answer_or_path": "Paris"}
# Folder -> the file of answers and its content.
SUBMISSIONS: dict[str, tuple[str, str | bytes]] = {
    "s_upper": ("Results_Metadata.jsonl", _json(ANSWER)),
    "s_txt": ("results_metadata.jsonl.txt", _json(ANSWER)),
    "s_json": ("results_metadata.json", _json([ANSWER])),
    **{
        f"s_{name}": ("results_metadata.jsonl", rows)
        for name, rows in {
            "cut": _json(ANSWER) + '\n{"instance_id": "geo_002", "answer_type": "answ',
            "array": json.dumps([ANSWER], indent=1),
            "quotes": str(ANSWER),
            "comma": _json(ANSWER)[:-1] + ",}",
            "dup": _json(ANSWER) + "\n" + _json({**ANSWER, "answer_or_path": "Lyon"}),
            "noid": _json({"id": "geo_001", "answer_type": "answer", "answer_or_path": "Paris"}),
            "key": _json({"instance_id": "geo_001", "answer_type": "answer", "answer": "Paris"}),
            "type": _json({**ANSWER, "answer_type": "text"}),
            "unknown": _json(ANSWER) + "\n" + _json({**ANSWER, "instance_id": "geo_01"}),
            "stranger": _json({**ANSWER, "instance_id": "zz"}),
            "up": _json({**ANSWER, "answer_type": "file", "answer_or_path": "../x.csv"}),
            "nofile": _json({**ANSWER, "answer_type": "file", "answer_or_path": "result.csv"}),
            "utf16": _json(ANSWER).encode("utf-16"),
            "latin": _json({**ANSWER, "answer_or_path": "Zürich"}).encode("cp1252"),
        }.items()
    },
}


def _entry(func: str = "string_match", **parameters: Any) -> dict[str, Any]:
    return {"instance_id": "geo_001", "evaluation": {"func": func, "parameters": parameters or {"gold": "Paris"}}}


ENTRY = _entry()
GOLDS: dict[str, list[Any]] = {
    "g_none": [],
    "g_scorer": [_entry("strng_match")],
    "g_param": [_entry("number_match", gold=1, precison=2)],
    "g_ptype": [_entry("number_match", gold=1, precision="two")],
    "g_noeval": [{"instance_id": "geo_001", "func": "string_match"}],
    "g_file": [_entry("table_match", gold="result.csv")],
    "g_cut": [ENTRY, '{"instance_id": "geo_002", "evaluation": {"func": "str'],
    "g_dup": [ENTRY, ENTRY],
    **{name: [ENTRY] for name in ("g_yaml", "g_ykey", "g_yrule", "g_two", "g_conn")},
}
SUITE_FILES = {
    "g_yaml/suite.yaml": "groups: {places: {prefix: geo_}\n",
    "g_ykey/suite.yaml": "ruls: strict\n",
    "g_yrule/suite.yaml": "rules: strikt\n",
    "g_conn/connections.yaml": "local: {engin: sqlite, database: x}\n",
}
