"""Predicted breaks: compares the public wheels of plugins with those of torch, and compiles sources where requested."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from ootci.adapters.download import DownloadProblem, downloaded
from ootci.adapters.process import Finished, run
from ootci.adapters.progress import Progress
from ootci.adapters.python_env import device_environment, pip_command
from ootci.adapters.terminal import plain
from ootci.errors import BadOption, IndexUnreachable, OotciError, TorchMissing
from ootci.flows.compile import compile_source
from ootci.flows.context import Folders
from ootci.model.compat import Compat, ExportChanges, Forecast, Needs, Prediction
from ootci.model.device import Device, RegisteredDevice, Torch
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel, OtherTorch, TorchRequest
from ootci.stages.compat import (
    PluginWheel,
    TorchWheel,
    export_changes,
    needs_of,
    predict,
    read_plugin,
    read_torch,
    source_check,
    without_findings,
)
from ootci.stages.plan import night_before, require_torch, resolve

SECONDS = 900.0
"""Time for downloading one wheel."""
_NO_ANSWER = ("Retrying", "Failed to establish", "Could not fetch URL")


@dataclass(frozen=True)
class Target:
    """A plugin to look at: a registered device, or a wheel that was given.

    Attributes:
        name: the device's name, or the wheel's path.
        item: the device, for a registered one.
        wheel: the wheel, for one that was given.

    """

    name: str
    item: RegisteredDevice | None = None
    wheel: Path | None = None

    @property
    def device(self) -> Device | None:
        """The content of the device's file, for a registered one."""
        return self.item.device if self.item is not None else None


@dataclass(frozen=True)
class Question:
    """Plugins and torches to compare.

    Attributes:
        torches: paths of wheels, versions or ``nightly``, or what a plan has decided.
        releases: torches to check besides, where they can be downloaded.
        baseline: the torch that every plugin counts as made for; None uses their metadata.
        is_planned: whether a plugin that cannot be checked is never an error.
        wheels: whether public wheels are read.
        compiles: whether sources are compiled, which runs the vendor's build.

    """

    targets: Sequence[Target]
    torches: Sequence[str | TorchRequest]
    releases: Sequence[str] = ()
    baseline: str | None = None
    is_planned: bool = False
    wheels: bool = True
    compiles: bool = False


def targets_of(names: Sequence[str], *, everything: bool, folders: Folders) -> tuple[Target, ...]:
    """The plugins that a command names: devices, or paths of wheels.

    Raises:
        BadOption: none was named, or there is no such wheel.
        NoSuchDevice: there is no such device.

    """
    if everything:
        return tuple(map(_target, folders.registry()))
    if not names:
        raise BadOption("no plugin was named", where="ootci compat", fix="name devices or wheels, or give --all")
    return tuple(_of_wheel(Path(name)) if name.endswith(".whl") else _target(folders.device(name)) for name in names)


def _of_wheel(wheel: Path) -> Target:
    if not wheel.is_file():
        raise BadOption("there is no such wheel", where=str(wheel), fix="give a plugin's wheel, or a device")
    return Target(str(wheel), wheel=wheel)


def _target(item: RegisteredDevice) -> Target:
    return Target(item.device.name, item)


def of_plan(plan: Plan, folders: Folders) -> Question:
    """The question of a plan, about every registered device.

    On the nightly's torch, on the newest release and the one before, and on those that devices name; or, where
    something of PyTorch is proposed, what its torch removes that the newest nightly has.

    Raises:
        IndexUnreachable: the plan has no such torch.

    """
    targets = targets_of((), everything=True, folders=folders)
    proposed = plan.trigger.proposal is not None
    why = plan.nightly.unavailable_reason if plan.nightly else None
    for torch in (*(planned.torch for planned in plan.runs), *((plan.nightly,) if plan.nightly else ())):
        if torch.unavailable_reason or (torch.channel is not Channel.NIGHTLY and not proposed):
            continue
        if proposed:
            return Question(targets, (_on_this_machine(torch, folders),), baseline="nightly", is_planned=True)
        public = [target.device for target in targets if target.device and target.device.public_package[0]]
        named = sorted({item.torch.release for item in public if item.torch.release}, key=Version, reverse=True)
        releases = (*(other.value for other in OtherTorch), *named) if public else ()
        return Question(targets, (torch,), releases, is_planned=True)
    raise IndexUnreachable(
        f"the plan has no torch to check{': ' + why if why else ''}",
        where=plan.id,
        fix="see why in plan.json; nothing is predicted",
    )


def _on_this_machine(torch: TorchRequest, folders: Folders) -> TorchRequest:
    """The torch, with its wheel in the work folder where another machine built it."""
    if torch.wheel is None or Path(torch.wheel).is_file():
        return torch
    return torch.model_copy(update={"wheel": str(folders.workspace.torch_wheels / Path(torch.wheel).name)})


def compat(question: Question, folders: Folders, progress: Progress) -> tuple[Compat, tuple[OotciError, ...]]:
    """Predict what each torch breaks; the errors are about plugins that cannot be checked.

    Raises:
        BadOption, TorchWheelMissing: what is named is no torch; nothing was looked for.
        WheelRefused: a torch is refused, or the one plugin that was named.
        TorchMissing, IndexUnreachable: a torch or a plugin cannot be downloaded.

    """
    for wanted in (*question.torches, question.baseline):
        if isinstance(wanted, str):
            require_torch(wanted, "--between" if question.baseline else "--torch")
    with contextlib.closing(_Torches(folders.workspace.torch_wheels, progress)) as torches:
        return _answer(question, torches, folders, progress)


def _answer(
    question: Question, torches: _Torches, folders: Folders, progress: Progress
) -> tuple[Compat, tuple[OotciError, ...]]:
    tested = [torches.get(wanted) for wanted in question.torches]
    fixed = torches.get(question.baseline) if question.baseline else None
    found: list[Prediction] = []
    needs: dict[str, Needs] = {}
    errors: list[OotciError] = []
    for release in question.releases:
        try:
            torch = torches.get(release)
        except OotciError as error:
            errors.append(error)
        else:
            tested += [torch] if all(torch.version != other.version for other in tested) else []
    for target in question.targets:
        with progress.step(f"compat {target.name}"):
            for torch in torches.all():
                torch.wheel.renew_limits()
            try:
                predictions, needed = _compared(target, tested, fixed, torches, folders, wheels=question.wheels)
                if question.is_planned and needed is not None:
                    needs[needed.digest] = needed
                    predictions[0] = predictions[0].model_copy(update={"needs": needed.digest})
                if question.compiles:
                    predictions = [
                        _with_source(prediction, target, torch, fixed, torches, folders, progress)
                        for prediction, torch in zip(predictions, tested, strict=True)
                    ]
                found += predictions
            except OotciError as error:
                if len(question.targets) == 1 and not question.is_planned:
                    raise
                errors.append(error)
                found += [without_findings(target.name, torch, Forecast.UNCHECKED, error.what) for torch in tested]
    exports = None
    if question.is_planned and question.wheels and fixed is None:
        try:
            exports = _exports(question.torches[0], tested[0], torches)
        except OotciError as error:
            errors.append(error)
    builds = tuple(torch.build for torch in tested)
    made = Compat(torches=builds, predictions=tuple(found), needs=tuple(needs.values()), exports=exports)
    return made, tuple(errors)


def _exports(wanted: str | TorchRequest, nightly: TorchWheel, torches: _Torches) -> ExportChanges | None:
    """What a nightly changed of PyTorch's exports; None without a nightly before it."""
    if isinstance(wanted, str) or wanted.index_url is None:
        return None
    before = night_before(wanted, nightly.tags)
    return export_changes(torches.get(before), nightly) if before is not None else None


def _compared(
    target: Target,
    tested: Sequence[TorchWheel],
    fixed: TorchWheel | None,
    torches: _Torches,
    folders: Folders,
    *,
    wheels: bool,
) -> tuple[list[Prediction], Needs | None]:
    """The prediction for each torch, and the needs of the plugin if it was read and no two torches are compared."""
    wheel: Path | str = "looked for: a source only"
    if wheels:
        wheel = target.wheel or _public_wheel(target.device, folders.work / "compat" / "plugins" / target.name)
    if isinstance(wheel, str):
        return [without_findings(target.name, torch, Forecast.NOTHING, wheel) for torch in tested], None
    operators = {name for torch in (*tested, *torches.all()) for name in torch.operators}
    plugin = read_plugin(wheel, target.device.name if target.device else None, operators)
    if fixed is not None:
        return [predict(plugin, torch, [fixed], fixed=True) for torch in tested], None
    known = [*tested, *_made_for(plugin, target.device, tested, torches)]
    # A torch is not evidence against itself.
    predictions = [predict(plugin, torch, known if len(known) > 1 else ()) for torch in tested]
    return predictions, needs_of(plugin, tested[0], known)


def _with_source(
    prediction: Prediction,
    target: Target,
    torch: TorchWheel,
    fixed: TorchWheel | None,
    torches: _Torches,
    folders: Folders,
    progress: Progress,
) -> Prediction:
    """The prediction with that of the plugin's source; the same for a plugin without one that compiles.

    A source that does not compile is compiled on another torch, too: the given one, or PyTorch's newest release.
    """
    if target.item is None or target.item.device.source_to_compile is None:
        return prediction
    built, other = compile_source(target.item, torch.build, torch.wheel.path, folders, progress), None
    if built.stages[1].compile_error is not None:
        commit = built.plugin.commit if built.plugin else None
        with contextlib.suppress(IndexUnreachable, TorchMissing):
            base = fixed or torches.get(OtherTorch.RELEASE.value)
            if base.version != torch.version:
                other = compile_source(target.item, base.build, base.wheel.path, folders, progress, commit=commit)
    return prediction.with_source(source_check(built, other))


def _made_for(
    plugin: PluginWheel, device: Device | None, tested: Sequence[TorchWheel], torches: _Torches
) -> list[TorchWheel]:
    """The torch that a plugin was made for, where it is not among those that are tested, or else another one."""
    stated = plugin.pinned or (device.torch.release if device else None)
    if stated is not None and all(torch.version.public != stated for torch in tested):
        try:
            return [torches.get(stated)]
        except OotciError as error:
            plugin.notes.append(f"torch {stated}, for which it was made, is not available: {error.what}")
    return [] if len(tested) > 1 else _another(plugin, tested[0], torches)


def _another(plugin: PluginWheel, tested: TorchWheel, torches: _Torches) -> list[TorchWheel]:
    """A release to compare with where only one torch was named: a torch is no evidence against itself."""
    for release in OtherTorch:
        try:
            torch = torches.get(release.value)
        except OotciError as error:
            plugin.notes.append(f"PyTorch's {release.value.replace('_', ' ')} is not available: {error.what}")
        else:
            if torch.version != tested.version:
                return [torch]
    return []


def _public_wheel(device: Device | None, folder: Path) -> Path | str:
    """The public wheel of a device's plugin, downloaded and not installed; a text if there is none."""
    if device is None:
        return "looked for: nothing"
    package, index_url = device.public_package
    if package is None:
        return device.looked_for
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*"):
        old.unlink()
    index = ["--extra-index-url", index_url] if index_url else []
    # Only the warnings about retries tell an index that does not answer from one that lacks the package.
    done = _pip_download(folder, *("--retries=2", "--pre", *index, package))
    wheels = sorted(folder.glob("*.whl"))
    if done.ok and len(wheels) == 1:
        return wheels[0]
    if "No matching distribution found" not in done.tail or any(sign in done.tail for sign in _NO_ANSWER):
        said = [line for line in plain(done.tail).splitlines() if line.startswith("ERROR:")]
        raise IndexUnreachable(
            f"{package} cannot be downloaded: {said[0][7:200] if said else done.ending}",
            where=index_url or "the package index",
            fix="see whether the package index answers, or name the path of a wheel",
        )
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return f"looked for: a wheel of {package} for {python} on {index_url or 'the package index'}"


class _Torches:
    """Wheels of torch, each downloaded and read once."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder = folder
        self._progress = progress
        self._read: dict[str, TorchWheel] = {}

    def close(self) -> None:
        """Close the files."""
        for torch in self._read.values():
            torch.wheel.close()

    def all(self) -> tuple[TorchWheel, ...]:
        """Those that were read so far."""
        return tuple(self._read.values())

    def get(self, wanted: str | TorchRequest) -> TorchWheel:
        """The torch of a path, a version or ``nightly``, or the one that a plan has decided."""
        key = wanted if isinstance(wanted, str) else str(wanted.version)
        if key not in self._read:
            with self._progress.step(f"torch {Path(key).name}"):
                self._read[key] = read_torch(self._file(wanted))
        return self._read[key]

    def _file(self, wanted: str | TorchRequest) -> Path:
        if isinstance(wanted, str) and (wanted.endswith(".whl") or "/" in wanted):
            return Path(wanted)
        request = resolve(wanted, Torch(fallback="none")) if isinstance(wanted, str) else wanted
        if request.unavailable_reason:
            raise IndexUnreachable(request.unavailable_reason, where="--torch", fix="name a wheel or a release")
        if request.wheel is not None:
            return Path(request.wheel)
        if request.url is None:
            return self._by_pip(str(request.version))
        try:
            return downloaded(request.url, self._folder, sha256=request.sha256, seconds=SECONDS)
        except DownloadProblem as problem:
            raise IndexUnreachable(str(problem), where=request.url, fix="try again later") from problem

    def _by_pip(self, version: str) -> Path:
        folder = self._folder / version
        if not any(folder.glob("torch-*.whl")):
            folder.mkdir(parents=True, exist_ok=True)
            done = _pip_download(folder, f"torch=={version}")
            if not done.ok:
                raise IndexUnreachable(
                    f"torch {version} cannot be downloaded: {done.ending}", where="pip", fix="name the path of a wheel"
                )
        return next(iter(sorted(folder.glob("torch-*.whl"))))


def _pip_download(folder: Path, *arguments: str) -> Finished:
    """Download a wheel without what it requires."""
    always = ("--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder))
    command = pip_command(Path(sys.prefix), "download", *always, *arguments)
    return run(command, cwd=folder, env=device_environment(None, {}), log_file=folder / "pip.log", timeout=SECONDS)
