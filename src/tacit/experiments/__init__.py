"""Studies, tuning, statistics, tables and figures: the paper's evaluation in one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.experiments.ablation.plan import shipped_ablation
    from tacit.experiments.ablation.run_study import run_ablation
    from tacit.experiments.engine_times import (
        LATENCIES_MS,
        QUICK_LATENCIES_MS,
        EngineTimes,
        measure_engine,
        read_engine_times,
    )
    from tacit.experiments.equity.plan import shipped_equity
    from tacit.experiments.equity.run_study import run_equity
    from tacit.experiments.execution.executors import executor, usable_cores
    from tacit.experiments.execution.progress import StudyProgress
    from tacit.experiments.execution.run_study import run_study
    from tacit.experiments.execution.store import write_whole
    from tacit.experiments.execution.time_budget import PAPER_BUDGET
    from tacit.experiments.leakage.plan import read_leakage_study, shipped_leakage_study
    from tacit.experiments.leakage.run_study import run_leakage_study
    from tacit.experiments.reproduction import (
        StudiesBeside,
        both_ends_study,
        control_studies,
        paper_studies,
        reproduce,
        shipped_ties_studies,
    )
    from tacit.experiments.study.study import Study, shipped_studies, shipped_study, study_named
    from tacit.experiments.together.run_study import run_together, together_studies
    from tacit.experiments.tuning.held_out import held_out_sets, held_out_values
    from tacit.experiments.tuning.tune import (
        Tuned,
        known_set,
        rows_beside,
        tune,
        tuning_task,
    )
else:
    __getattr__ = lazily(__name__)
