"""Gates: metrics, measures, the gate language, decisions, comparisons and the report model."""
