"""The report: tables, figures and findings, the paper's beside ours."""
