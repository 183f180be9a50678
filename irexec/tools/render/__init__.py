"""Output: findings, models, runs and comparisons as text, JSON, drawings and HTML reports."""
