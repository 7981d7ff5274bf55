"""The names a gold file may use in `func`. A new scorer is one file in this folder and one line in this table."""

BUNDLED: dict[str, tuple[str, str]] = {
    "string_match": ("evalsuite.scorers.string_match:string_match", "the answer holds the gold text"),
    "number_match": ("evalsuite.scorers.number_match:number_match", "the answer holds the gold number"),
    "table_match": ("evalsuite.scorers.table_match:table_match", "a CSV table holds the gold columns"),
    "tables_match": ("evalsuite.scorers.tables_match:tables_match", "several CSV tables, each against its own gold"),
    "duckdb_match": ("evalsuite.scorers.duckdb_match:duckdb_match", "tables of a DuckDB database against a gold database"),
    "exact_match": ("evalsuite.scorers.text_metrics:exact_match", "the answer equals a reference after normalisation"),
    "f1": ("evalsuite.scorers.text_metrics:f1", "the words answer and reference share"),
    "bleu": ("evalsuite.scorers.text_metrics:bleu", "n-gram precision with a brevity penalty, score / 100"),
    "chrf": ("evalsuite.scorers.text_metrics:chrf", "F-score of character n-grams, score / 100"),
    "ter": ("evalsuite.scorers.text_metrics:ter", "edits in percent of the reference's words, less is better"),
    "rouge": ("evalsuite.scorers.text_metrics:rouge", "overlap of words, word pairs or the longest common subsequence"),
    "levenshtein": ("evalsuite.scorers.text_metrics:levenshtein", "similarity by edit distance"),
    "levenshtein_distance": ("evalsuite.scorers.text_metrics:levenshtein_distance", "number of edits, less is better"),
    "jaro_winkler": ("evalsuite.scorers.text_metrics:jaro_winkler", "similarity of short texts, a common beginning counts more"),
    "word_count_match": ("evalsuite.scorers.text_quality:word_count_match", "how near the number of words comes to the reference's"),
    "readability": ("evalsuite.scorers.text_quality:readability", "Flesch reading ease of the answer"),
    "specificity": ("evalsuite.scorers.text_quality:specificity", "few vague words, rare words, names and numbers"),
    "hedging_language": ("evalsuite.scorers.text_quality:hedging_language", "no disclaimer of a language model"),
    "bertscore": ("evalsuite.scorers.text_quality:bertscore", "similarity of meaning by token vectors of a local model"),
    "python_unit_testing": ("evalsuite.scorers.text_quality:python_unit_testing", "a program that passes the tests (--allow-programs)"),
    "pass_at_k": ("evalsuite.scorers.text_quality:pass_at_k", "the chance that one of k programs passes the tests (--allow-programs)"),
    "composite": ("evalsuite.scorers.text_quality:composite", "several metrics combined to one score"),
    "llm_judge": ("evalsuite.scorers.llm_judge:llm_judge", "a model rates the answer against the reference"),
    "qa_correctness": ("evalsuite.scorers.qa_correctness:qa_correctness", "a model says whether a context bears the answer out"),
    "summary_quality": ("evalsuite.scorers.summary_quality:summary_quality", "a model compares the summary with a reference summary"),
    "hallucination": ("evalsuite.scorers.hallucination:hallucination", "a model says whether a context supports every claim"),
    "tree_match": ("evalsuite.scorers.tree_match:tree_match", "extracted JSON records against gold records, field by field"),
    "tree_score": ("evalsuite.scorers.tree_score:tree_score", "JSON records against gold records, by structure and metrics"),
}

SCORERS = Registry(BUNDLED, metric_scorer=Lazy("evalsuite.scorers.metric_score:metric_scorer"), group="evalsuite.scorers")
