"""What a study is: its problems, settings and conditions."""
