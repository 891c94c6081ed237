"""Operators put public halves together: all get the same cluster, and what is wrong is refused."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tacit.errors import TacitError
from tacit.identity import load_cluster_config, load_half, load_node_config, public_half
from tacit.identity.config import NodeConfig
from tacit.identity.keys import Keys, load_keys
from tacit.identity.public_half import (
    new_node,
    new_platform,
    node_half,
    short_fingerprints,
    show_half,
)
from tacit.mpc.transport import make_certificate, split_certificates
from tests.conftest import RunTacit

NODES = ("alpha", "beta", "gamma")


@pytest.fixture
def post(tmp_path: Path) -> Path:
    """The public halves of three nodes and a platform, whose folders are beside it."""
    folder = tmp_path / "post"
    folder.mkdir()
    for number, name in enumerate(NODES):
        new_node(tmp_path / name, name, f"{name}.example:{9000 + number}")
    new_platform(tmp_path / "desk", "desk")
    for name in (*NODES, "desk"):
        file = f"{name}.public.toml"
        (folder / file).write_text((tmp_path / name / file).read_text())
    return folder


def halves(post: Path) -> list[Path]:
    return sorted(post.glob("*.public.toml"))


def forged(post: Path, name: str, **changes: Any) -> None:
    """Another half of somebody, signed by a key of its own."""
    keys = Keys.new(name)
    words = {"name": name, "address": f"{name}.example:9000"} | changes
    pem = words.pop("certificate", None) or make_certificate(name)[0]
    half = node_half(words.pop("keys", keys), pem, **words)
    (post / f"{name}.public.toml").write_text(show_half(half))


def test_everybody_gets_the_same_cluster(post: Path, run_here: RunTacit) -> None:
    home, said = post.parent, {}
    for name in (*NODES, "desk"):
        # In whatever order they come, with one's own or without.
        files = [*reversed(halves(post))]
        if name == "beta":
            files.remove(post / "beta.public.toml")
        done = run_here("cluster", "join", home / name, *files)
        assert done.returncode == 0, done.stderr
        said[name] = done.stdout.splitlines()[-1]
    assert len({*said.values()}) == 1
    assert said["desk"].startswith("all together: ")
    cluster = load_cluster_config(home / "desk" / "cluster.toml")
    assert [each.address for each in cluster.nodes] == [
        *("alpha.example:9000", "beta.example:9001", "gamma.example:9002")
    ]
    beta = load_node_config(home / "beta" / "node.toml")
    assert (beta.node, beta.listen) == (1, "0.0.0.0:9001")
    assert [(peer.node, peer.certificate) for peer in beta.peers] == [
        *((0, "alpha.pem"), (2, "gamma.pem"))
    ]
    for each in cluster.nodes:
        name = each.address.split(".")[0]
        assert each.signing_key == load_keys(home / name / f"{name}.key").signing_public
        pinned = home / "desk" / each.certificate
        assert pinned.read_text() == (home / name / f"{name}.pem").read_text()
    text = (home / "beta" / "beta.pem").read_text()
    assert load_half(post / "beta.public.toml").certificate == text
    assert run_here("cluster", "join", home / "beta", *halves(post)).returncode == 0, "once more"


def test_settings_of_the_operator_stay(post: Path, run_here: RunTacit) -> None:
    path = post.parent / "alpha" / "node.toml"
    text = path.read_text()
    shown = {field.name for field in msgspec.structs.fields(NodeConfig)}
    assert tomllib.loads(text).keys() == shown - {"folder", "node", "peers", "platforms"}
    path.write_text(text.replace("keep_days = 30.0", "keep_days = 7.0"))
    for _ in range(2):
        assert run_here("cluster", "join", path.parent, *halves(post)).returncode == 0
        assert load_node_config(path).keep_days == 7.0
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:5]))
    assert "has no line" in run_here("cluster", "join", path.parent, *halves(post)).stderr


def test_a_node_that_has_joined_nobody_says_so(post: Path, run_here: RunTacit) -> None:
    done = run_here("node", "run", "--config", post.parent / "alpha" / "node.toml")
    assert done.returncode == 2
    assert "has joined no cluster yet; give the public halves of all" in done.stderr


def test_what_does_not_fit_is_refused_and_nothing_is_written(
    post: Path, run_here: RunTacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = post.parent / "alpha"
    before = {path.name: path.read_bytes() for path in alpha.iterdir()}
    good = {path.name: path.read_text() for path in halves(post)}
    beta = load_half(post / "beta.public.toml")
    beta_keys = load_keys(post.parent / "beta" / "beta.key")

    def refused(says: str, code: int) -> None:
        done = run_here("cluster", "join", alpha, *halves(post))
        assert (done.returncode, says in done.stderr) == (code, True), done.stderr
        assert {path.name: path.read_bytes() for path in alpha.iterdir()} == before
        for path in halves(post):
            path.unlink()
        for name, text in good.items():
            (post / name).write_text(text)

    forged(post, "delta", address=beta.address)
    refused("'beta' and 'delta' have the same address", 3)
    forged(post, "delta", keys=beta_keys)
    refused("'beta' and 'delta' have the same signing", 3)
    forged(post, "delta", certificate=beta.certificate)
    refused("'beta' and 'delta' have the same certificate", 3)
    (post / "b.public.toml").write_text(good["beta.public.toml"])
    forged(post, "beta")
    refused("'beta' and 'beta' have the same name", 3)
    forged(post, "alpha")
    refused("somebody uses your name", 3)
    forged(post, "gamma", certificate=make_certificate("gamma", days=-0.01)[0])
    refused("the certificate of 'gamma' has expired on", 2)
    with monkeypatch.context() as patch:
        patch.setattr(public_half, "PROTOCOL", 2)
        forged(post, "gamma")
    refused("'gamma' speaks version 2 of the nodes' protocol", 2)
    forged(post, "gamma", address="gamma.example")
    refused("is not an address; write host:port", 2)
    forged(post, "gamma", address='g.example:9"\nsigning_key = "ab')
    refused("is damaged", 2)
    forged(post, "gamma", address="g.example:9\x1b[8m")
    refused("is damaged", 2)
    forged(post, "ca")
    refused("no node or platform has such a name", 2)
    text = good["gamma.public.toml"].replace("gamma.example", "gamme.example")
    (post / "gamma.public.toml").write_text(text)
    refused("was changed after its owner signed it", 3)
    text = good["desk.public.toml"].replace('name = "desk"', 'name = "disk"')
    (post / "desk.public.toml").write_text(text)
    refused("was changed after its owner signed it", 3)
    (post / "gamma.public.toml").write_text(good["gamma.public.toml"][:300])
    refused("is not TOML", 2)
    (post / "gamma.public.toml").write_text('name = "gamma"\n')
    refused("is not the public half of a node or platform", 2)
    (post / "gamma.public.toml").unlink()
    refused("here are the public halves of 2 (alpha, beta)", 2)
    for name in ("delta", "epsilon"):
        forged(post, name)
    refused("here are the public halves of 5", 2)
    (post / "desk.public.toml").unlink()
    refused("no public half of a platform is among them", 2)


def test_another_key_for_somebody_known_needs_a_word(post: Path, run_here: RunTacit) -> None:
    desk, beta = post.parent / "desk", post.parent / "beta"
    assert run_here("cluster", "join", desk, *halves(post)).returncode == 0
    assert run_here("cluster", "join", beta, *halves(post)).returncode == 0
    for step in ("prepare", "switch", "finish"):
        done = run_here("keys", "rotate", beta / "node.toml", step)
        assert (done.returncode, "written anew" in done.stdout) == (0, True), done.stderr
    new = (beta / "beta.public.toml").read_text()
    assert new != (post / "beta.public.toml").read_text()
    (post / "beta.public.toml").write_text(new)
    again = run_here("cluster", "join", desk, *halves(post))
    assert (again.returncode, "beta.pem is pinned already" in again.stderr) == (3, True)
    assert run_here("cluster", "join", desk, *halves(post), "--replace").returncode == 0
    key = load_keys(beta / "beta.key").signing_public
    assert load_cluster_config(desk / "cluster.toml").nodes[1].signing_key == key


def test_keys_are_never_overwritten_and_names_are_file_names(
    post: Path, run_here: RunTacit
) -> None:
    words = ("--name", "alpha", "--address", "a:1")
    again = run_here("node", "init", post.parent / "alpha", *words)
    assert "somebody's keys are in it already; give a new folder" in again.stderr
    assert (
        "keys are in it" in run_here("cluster", "init", post.parent / "alpha", "--name", "x").stderr
    )
    for name in ("", "../x", "Alpha", "a b", "ca", "service", "-a"):
        done = run_here("node", "init", post / "new", f"--name={name}", "--address", "a:1")
        assert (done.returncode, "lower-case letters" in done.stderr) == (2, True), name
    wrong = run_here("node", "init", post / "new", "--name", "n", "--address", "a:70000")
    assert "write host:port" in wrong.stderr
    assert not (post / "new").exists()
    nobody = run_here("cluster", "join", post, *halves(post))
    assert "there is no key in it" in nobody.stderr


def test_json_and_fingerprints(post: Path, run_here: RunTacit) -> None:
    home = post.parent
    made = json.loads(
        run_here(
            *("node", "init", home / "d", "--name", "delta", "--address", "[::1]:9", "--json")
        ).stdout
    )
    assert made["file"] == str(home / "d" / "delta.public.toml")
    joined = json.loads(run_here("cluster", "join", home / "beta", *halves(post), "--json").stdout)
    assert (joined["node"], len(joined["nodes"]), len(joined["platforms"])) == (1, 3, 1)
    shown = json.loads(run_here("keys", "show", home / "beta" / "node.toml", "--json").stdout)
    assert [each["what"] for each in shown] == ["signing key", *["certificate"] * 4]
    beta = joined["nodes"][1]
    assert shown[0]["to_compare"] == beta["signing_key_to_compare"]
    assert shown[1]["to_compare"] == beta["certificates_to_compare"][0]
    assert shown[1]["hosts"] == ["beta.example"]
    half = run_here("keys", "show", post / "beta.public.toml").stdout
    pem = run_here("keys", "show", home / "beta" / "beta.pem").stdout
    for said in (half, pem):
        assert beta["certificates_to_compare"][0] in said
    assert beta["signing_key_to_compare"] in half


def test_all_certificates_in_force_are_compared(post: Path, run_here: RunTacit) -> None:
    """While keys are rotated two are accepted, so whoever slips in a second one is noticed."""
    home = post.parent
    one, other = home / "desk", home / "desk-for-others"
    # The platform's operator prepares a rotation twice, and shows alpha another new certificate.
    shutil.copytree(one, other)
    for folder in (one, other):
        assert run_here("cluster", "join", folder, *halves(post)).returncode == 0
    prepared = [
        run_here("keys", "rotate", each / "cluster.toml", "prepare").stdout for each in (one, other)
    ]
    compared = []
    for name, folder in (("alpha", other), ("beta", one), ("gamma", one)):
        shutil.copy(folder / "desk.public.toml", post)
        joined = run_here("cluster", "join", home / name, *halves(post), "--replace").stdout
        compared.append(joined.splitlines()[-1])
        pinned = split_certificates((home / name / "desk.pem").read_text())
        assert len(pinned) == 2
        for each in pinned:
            (printed,) = short_fingerprints(each)
            assert printed in joined
        # The new one is named where it was drawn, too, and by `keys show`.
        assert f"new certificate  {printed}" in prepared[folder is other]
        assert printed in run_here("keys", "show", home / name / "desk.pem").stdout
    assert compared[0] != compared[1] == compared[2]
    # Which of them is shown first makes no difference.
    switched = run_here("keys", "rotate", one / "cluster.toml", "switch").stdout
    assert f"certificate  {printed}" in switched
    shutil.copy(one / "desk.public.toml", post)
    joined = run_here("cluster", "join", home / "beta", *halves(post), "--replace").stdout
    assert joined.splitlines()[-1] == compared[1]


def test_a_certificate_of_another_party_is_refused_beside_its_own(
    post: Path, run_here: RunTacit
) -> None:
    """Two parties that may show the same certificate could stand in for each other."""
    gamma, alpha = load_half(post / "gamma.public.toml"), load_half(post / "alpha.public.toml")
    keys = load_keys(post.parent / "gamma" / "gamma.key")
    both = gamma.certificate + alpha.certificate
    forged(post, "gamma", address=gamma.address, keys=keys, certificate=both)
    done = run_here("cluster", "join", post.parent / "beta", *halves(post))
    assert done.returncode == 3
    assert "have the same certificate" in done.stderr


def test_participants_pin_the_same_files(post: Path, run_here: RunTacit) -> None:
    from tacit.participant import load_trust

    trust = load_trust(post / "beta.public.toml")
    key = load_keys(post.parent / "beta" / "beta.key").signing_public
    assert [(each.address, each.signing_key) for each in trust.node] == [("beta.example:9001", key)]
    with pytest.raises(TacitError, match="which signs no agreement; leave it out"):
        load_trust(post / "desk.public.toml")
    (post / "beta.public.toml").write_text(
        (post / "beta.public.toml").read_text().replace(":9001", ":9009")
    )
    with pytest.raises(TacitError, match="was changed after its owner signed it"):
        load_trust(post / "beta.public.toml")
