"""The names a gold file may use in `func`. A new scorer is one file in this folder and one line in this table."""

from evalsuite.lazy import Lazy
from evalsuite.registry import Registry

BUNDLED: dict[str, Lazy] = {
    "string_match": Lazy("evalsuite.scorers.string_match:string_match", "the answer holds the gold text"),
    "number_match": Lazy("evalsuite.scorers.number_match:number_match", "the answer holds the gold number"),
    "table_match": Lazy("evalsuite.scorers.table_match:table_match", "a CSV table holds the gold columns"),
    "tables_match": Lazy("evalsuite.scorers.tables_match:tables_match", "several CSV tables, each against its own gold"),
    "duckdb_match": Lazy("evalsuite.scorers.duckdb_match:duckdb_match", "tables of a DuckDB database against a gold database"),
    "exact_match": Lazy("evalsuite.scorers.text_metrics:exact_match", "the answer equals a reference after normalisation"),
    "f1": Lazy("evalsuite.scorers.text_metrics:f1", "the words answer and reference share"),
    "bleu": Lazy("evalsuite.scorers.text_metrics:bleu", "n-gram precision with a brevity penalty, score / 100"),
    "chrf": Lazy("evalsuite.scorers.text_metrics:chrf", "F-score of character n-grams, score / 100"),
    "ter": Lazy("evalsuite.scorers.text_metrics:ter", "edits in percent of the reference's words, less is better"),
    "rouge": Lazy("evalsuite.scorers.text_metrics:rouge", "overlap of words, word pairs or the longest common subsequence"),
    "levenshtein": Lazy("evalsuite.scorers.text_metrics:levenshtein", "similarity by edit distance"),
    "levenshtein_distance": Lazy("evalsuite.scorers.text_metrics:levenshtein_distance", "number of edits, less is better"),
    "jaro_winkler": Lazy("evalsuite.scorers.text_metrics:jaro_winkler", "similarity of short texts, a common beginning counts more"),
    "word_count_match": Lazy("evalsuite.scorers.text_quality:word_count_match", "how near the number of words comes to the reference's"),
    "readability": Lazy("evalsuite.scorers.text_quality:readability", "Flesch reading ease of the answer"),
    "specificity": Lazy("evalsuite.scorers.text_quality:specificity", "few vague words, rare words, names and numbers"),
    "hedging_language": Lazy("evalsuite.scorers.text_quality:hedging_language", "no disclaimer of a language model"),
    "bertscore": Lazy("evalsuite.scorers.text_quality:bertscore", "similarity of meaning by token vectors of a local model"),
    "python_unit_testing": Lazy("evalsuite.scorers.text_quality:python_unit_testing", "a program that passes the tests (--allow-programs)"),
    "pass_at_k": Lazy("evalsuite.scorers.text_quality:pass_at_k", "the chance that one of k programs passes the tests (--allow-programs)"),
    "composite": Lazy("evalsuite.scorers.text_quality:composite", "several metrics combined to one score"),
    "llm_judge": Lazy("evalsuite.scorers.llm_judge:llm_judge", "a model rates the answer against the reference"),
    "qa_correctness": Lazy("evalsuite.scorers.qa_correctness:qa_correctness", "a model says whether a context bears the answer out"),
    "summary_quality": Lazy("evalsuite.scorers.summary_quality:summary_quality", "a model compares the summary with a reference summary"),
    "hallucination": Lazy("evalsuite.scorers.hallucination:hallucination", "a model says whether a context supports every claim"),
    "tree_match": Lazy("evalsuite.scorers.tree_match:tree_match", "extracted JSON records against gold records, field by field"),
    "tree_score": Lazy("evalsuite.scorers.tree_score:tree_score", "JSON records against gold records, by structure and metrics"),
}

SCORERS = Registry(BUNDLED, metric_scorer=Lazy("evalsuite.scorers.metric_score:metric_scorer"), group="evalsuite.scorers")
