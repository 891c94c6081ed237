"""Where masks come from: the published key derivation, whole keys, whole words."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit.mpc.masks import KeyedMasks, expand
from tests.mpc.fairness import check_every_bit_is_fair

STREAMS = 400
SOURCE = KeyedMasks({0: bytes(32)})


def test_keys_are_expanded_as_rfc_5869_says() -> None:
    key = "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"
    info = "f0f1f2f3f4f5f6f7f8f9"
    expanded = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    assert expand(bytes.fromhex(key), bytes.fromhex(info)).hex() == expanded


def test_every_bit_of_a_word_is_random() -> None:
    words = SOURCE.words("x", 0, 50 * STREAMS)
    check_every_bit_is_fair([word.tobytes() for word in words])


@pytest.mark.parametrize("count", [8192, 8193, 20_001])
def test_long_streams_go_on_where_short_ones_end(count: int) -> None:
    subkey = expand(bytes(32), b"words|x")
    stream = Cipher(algorithms.AES(subkey[:16]), modes.CTR(subkey[16:])).encryptor()
    words = SOURCE.words("x", 0, count)
    assert words.tobytes() == stream.update(bytes(8 * count))
    assert not words.flags.writeable


def test_every_bit_of_a_streams_key_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    aes = algorithms.AES

    def noted(key: bytes) -> algorithms.AES:
        keys.append(key)
        return aes(key)

    monkeypatch.setattr(algorithms, "AES", noted)
    for number in range(STREAMS):
        SOURCE.words(str(number), 0, 1)
    assert {len(key) for key in keys} == {16}
    check_every_bit_is_fair(keys)
