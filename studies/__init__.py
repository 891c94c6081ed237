"""Studies, tuning, statistics, tables and figures: the paper's evaluation in one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from studies.ablation.plan import shipped_ablation
    from studies.ablation.run_study import run_ablation
    from studies.engine_times import (
        LATENCIES_MS,
        QUICK_LATENCIES_MS,
        EngineTimes,
        measure_engine,
        read_engine_times,
    )
    from studies.equity.plan import shipped_equity
    from studies.equity.run_study import run_equity
    from studies.execution.executors import executor, usable_cores
    from studies.execution.progress import StudyProgress
    from studies.execution.run_study import run_study
    from studies.execution.store import write_whole
    from studies.execution.time_budget import PAPER_BUDGET
    from studies.leakage.plan import read_leakage_study, shipped_leakage_study
    from studies.leakage.run_study import run_leakage_study
    from studies.reproduction import (
        StudiesBeside,
        both_ends_study,
        control_studies,
        paper_studies,
        reproduce,
        shipped_ties_studies,
    )
    from studies.study.study import Study, shipped_studies, shipped_study, study_named
    from studies.together.run_study import run_together, together_studies
    from studies.tuning.held_out import held_out_sets, held_out_values
    from studies.tuning.tune import (
        Tuned,
        known_set,
        rows_beside,
        tune,
        tuning_task,
    )
else:
    __getattr__ = lazily(__name__)
