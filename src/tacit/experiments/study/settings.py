"""The settings of a study's search: of one that evaluates, or of a sealed one.

The preset decides which of the two a study is about. Names, types and ranges of the settings are
those of their class, so a setting that is added there can be set and tuned here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.disclosure import SEALED
from tacit.errors import ParameterError
from tacit.runs import Settings as Settings
from tacit.runs import changed as changed
from tacit.search import PRESETS, SearchParameters, preset_named
from tacit.search.moves import SEALED_PRESETS, SealedParameters, sealed_parameters_for


def preset_settings(preset: str, changes: Mapping[str, Any] | None = None, /) -> Settings:
    """The settings of a preset, some of them changed.

    >>> preset_settings("sealed-ap", {"cycles": 2}).cycles
    2
    >>> preset_settings("paper")
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'paper' is not a preset; use one of paper-ap, paper-tsp, \
paper-moap, tuned-ap, tuned-tsp, sealed-ap, sealed-tsp
    """
    if preset in SEALED_PRESETS:
        return changed(sealed_parameters_for(SEALED_PRESETS[preset]), changes or {})
    if preset not in PRESETS:
        known = ", ".join((*PRESETS, *SEALED_PRESETS))
        raise ParameterError(f"{preset!r} is not a preset; use one of {known}")
    return changed(preset_named(preset), changes or {})


def is_sealed(settings: Settings, /) -> bool:
    """Whether these are settings of a sealed search."""
    return isinstance(settings, SealedParameters)


def settings_of(disclosure: str, values: Mapping[str, Any], /) -> Settings:
    """The settings of a run, which a sealed one has of its own.

    >>> settings_of("sealed", {"block": 4}).block
    4
    """
    return SealedParameters(**values) if disclosure == SEALED else SearchParameters(**values)


def check_disclosure(settings: Settings, disclosure: str, /) -> None:
    """Refuse a disclosure that a search with such settings cannot have.

    >>> check_disclosure(SealedParameters(), "top:15")
    Traceback (most recent call last):
    tacit.errors.ParameterError: a sealed search cannot disclose top:15; take another preset
    """
    if is_sealed(settings) and disclosure != SEALED:
        raise ParameterError(f"a sealed search cannot disclose {disclosure}; take another preset")
    if disclosure == SEALED and not is_sealed(settings):
        raise ParameterError(
            f"{SEALED} needs the settings of a sealed search; take the preset "
            f"{' or '.join(SEALED_PRESETS)}"
        )
