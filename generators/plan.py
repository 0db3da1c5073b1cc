"""Reading a plan, and what follows from it: the manifest of the release that it makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from generators.backends.call import Facts
from generators.methods import METHODS, method_called
from generators.methods.method import Method
from generators.prompts import Prompts, load_prompts
from generators.seeds import subsample
from schemas.errors import UsageError
from schemas.manifest import FORMAT_VERSION, Cell, Dataset, Family, Manifest, Model, Sampling, Subsample
from schemas.plan import Plan, PlanDataset, PlanMethod, PlanModel
from schemas.reading import Limits, Problem, read_lines, read_toml
from schemas.record import Question

SHUFFLE = "positions shuffled by random.Random(seed), the first `size` taken, in that order"


@dataclass(frozen=True, kw_only=True)
class Study:
    """A plan with its files read: what is to be run, before any model is opened."""

    plan: Plan
    models: tuple[PlanModel, ...]
    """With absolute paths."""
    questions: Mapping[str, tuple[Question, ...]]
    """By dataset: those drawn, in the order drawn; `index` is the position in the benchmark."""
    prompts: Prompts


def read_plan(
    path: Path, *, files: Mapping[str | None, str] | None = None, base_urls: Mapping[str | None, str] | None = None
) -> Study:
    """A plan and the files that it names.

    `files`, `base_urls`: GGUF files and servers in place of the plan's, by model id; None = the plan's only model.
    Raises UsageError with the first thing that is wrong.
    """
    plan = read_toml(path, Plan)
    _check_ids(path, plan)
    folder = path.absolute().parent
    models = [_located(path, folder, model) for model in plan.models]
    models = _override(path, models, files or {}, base_urls or {})
    for model in models:
        _check_located(path, model)
    for number, method in enumerate(plan.methods):
        _check_method(path, number, method, plan)
    return Study(
        plan=plan,
        models=tuple(models),
        questions={dataset.id: _draw(folder, dataset) for dataset in plan.datasets},
        prompts=load_prompts(None if plan.prompts is None else folder / plan.prompts),
    )


def build_manifest(study: Study, facts: Mapping[str, Facts]) -> Manifest:
    """The manifest of a study; `facts` says by model id what its backend knows of the model, of those that are run."""
    plan = study.plan
    cells = [cell for model in study.models for dataset in plan.datasets for cell in _cells(study, model, dataset)]
    settings: dict[str, list[str]] = {}
    for cell in cells:
        if not cell.pool:
            settings.setdefault(cell.id.rsplit("/", 1)[0], []).append(cell.id)
    return Manifest(
        format_version=FORMAT_VERSION,
        title=plan.title,
        license=plan.license,
        source=plan.source,
        models=[_model(model, facts[model.id]) for model in study.models if model.id in facts],
        datasets=[_dataset(dataset, study.questions[dataset.id]) for dataset in plan.datasets],
        cells=cells,
        families=[Family(id=setting.replace("/", "."), cells=ids) for setting, ids in settings.items()] or None,
        known_limits=plan.known_limits,
        extra={"storage": plan.storage},
    )


def _check_ids(path: Path, plan: Plan) -> None:
    for what, ids in (
        ("models", [model.id for model in plan.models]),
        ("datasets", [dataset.id for dataset in plan.datasets]),
        ("methods", [method.id or method.method for method in plan.methods]),
    ):
        if doubled := sorted({name for name in ids if ids.count(name) > 1}):
            raise UsageError(f"{path}: {what}: {doubled[0]!r} stands there twice; give one of them another `id`.")


def _located(path: Path, folder: Path, model: PlanModel) -> PlanModel:
    backends = [name for name in ("llama_cpp", "openai", "scripted") if getattr(model, name) is not None]
    if len(backends) != 1:
        what = "no backend" if not backends else f"{len(backends)} backends"
        raise UsageError(
            f"{path}: model {model.id!r} has {what}; write exactly one of [models.llama_cpp], [models.openai] and "
            "[models.scripted] below it."
        )
    if model.scripted is not None:
        replies = str(folder / model.scripted.replies)
        return msgspec.structs.replace(model, scripted=msgspec.structs.replace(model.scripted, replies=replies))
    if model.llama_cpp is not None and model.llama_cpp.file not in (None, "smollm2"):
        file = str(folder / str(model.llama_cpp.file))
        return msgspec.structs.replace(model, llama_cpp=msgspec.structs.replace(model.llama_cpp, file=file))
    return model


def _override(
    path: Path,
    models: Sequence[PlanModel],
    files: Mapping[str | None, str],
    base_urls: Mapping[str | None, str],
) -> list[PlanModel]:
    changed = {model.id: model for model in models}
    for option, backend, field, given in (
        ("--model", "llama_cpp", "file", files),
        ("--base-url", "openai", "base_url", base_urls),
    ):
        for name, value in given.items():
            able = [model.id for model in models if getattr(model, backend) is not None]
            if not able:
                raise UsageError(f"{path} has no model with [models.{backend}], and {option} is for these alone.")
            if name is None and len(able) != 1:
                raise UsageError(
                    f"{path} has {len(able)} models with [models.{backend}]; write {option} ID={value}, ID naming one."
                )
            target = able[0] if name is None else name
            if target not in able:
                raise UsageError(f"{path} has no model {target!r} with [models.{backend}]; {option} names one.")
            options = msgspec.structs.replace(getattr(changed[target], backend), **{field: value})
            changed[target] = msgspec.structs.replace(changed[target], **{backend: options})
    return list(changed.values())


def _check_located(path: Path, model: PlanModel) -> None:
    if model.llama_cpp is not None and model.llama_cpp.file is None:
        raise UsageError(f"{path}: model {model.id!r} names no file; write `file`, or --model FILE.gguf.")
    if model.openai is not None and model.openai.base_url is None:
        raise UsageError(f"{path}: model {model.id!r} names no server; write `base_url`, or --base-url URL.")


def _check_method(path: Path, number: int, planned: PlanMethod, plan: Plan) -> None:
    where = f"{path}: methods[{number}]"
    try:
        method = method_called(planned.method)
        method.with_defaults(planned.parameters or {})
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    for what, named, known in (
        ("models", planned.models, [model.id for model in plan.models]),
        ("datasets", planned.datasets, [dataset.id for dataset in plan.datasets]),
    ):
        if unknown := [name for name in named or [] if name not in known]:
            raise UsageError(f"{where}: {what}: the plan has no {unknown[0]!r}; it has {', '.join(known)}.")
    for model in plan.models:
        if method.in_process and model.openai is not None and model.id in (planned.models or [model.id]):
            raise UsageError(
                f"{where}: {method.name} cannot be asked of a server, which {model.id!r} is; run it on a GGUF file, "
                "and name the `models` that do."
            )
    pools = [other for other in plan.methods if METHODS.get(other.method) is not None and METHODS[other.method].pool]
    if method.pool and (planned.replicates > 1 or len(pools) > 1):
        raise UsageError(
            f"{where}: {method.name} is the pool that others are compared with, and a setting has one; "
            "use majority_vote for more."
        )


def _draw(folder: Path, dataset: PlanDataset) -> tuple[Question, ...]:
    path = folder / dataset.questions
    if not path.is_file():
        raise UsageError(f"{path} is not a file; dataset {dataset.id!r} of the plan names it as its questions.")
    items: list[Question] = []
    seen: set[str] = set()
    places: set[int] = set()
    for line in read_lines(path, Question, limits=Limits()):
        where = f"{path}{f', line {line.number}' if line.number else ''}"
        if isinstance(line, Problem):
            raise UsageError(f"{where}: {line.message}")
        if not (line.value.text or "").strip():
            raise UsageError(f"{where}: question {line.value.id!r} has no text, so no model can be asked.")
        if any("\ud800" <= character <= "\udfff" for character in line.value.text or ""):
            raise UsageError(f"{where}: question {line.value.id!r} holds half a character (a lone surrogate).")
        if line.value.id in seen:
            raise UsageError(f"{where}: the id {line.value.id!r} came before; ids must be unique.")
        seen.add(line.value.id)
        # The position in the file is that in the benchmark, unless the file says otherwise.
        index = len(items) if line.value.index is None else line.value.index
        if index in places:
            raise UsageError(f"{where}: the position {index} came before; give every question its `index`, or none.")
        places.add(index)
        items.append(msgspec.structs.replace(line.value, index=index))
    if not items:
        raise UsageError(f"{path} holds no question.")
    if dataset.sample is None:
        return tuple(items)
    if dataset.sample > len(items):
        raise UsageError(f"{path} holds {len(items)} questions, and the plan draws {dataset.sample} of them.")
    return tuple(items[position] for position in subsample(len(items), dataset.sample, dataset.seed))


def _cells(study: Study, model: PlanModel, dataset: PlanDataset) -> list[Cell]:
    cells = []
    for planned in study.plan.methods:
        if model.id in (planned.models or [model.id]) and dataset.id in (planned.datasets or [dataset.id]):
            name = f"{model.id}/{dataset.id}/{planned.id or planned.method}"
            names = [name] if planned.replicates == 1 else [f"{name}@{number}" for number in range(planned.replicates)]
            cells += [_cell(study, planned, METHODS[planned.method], cell_id, dataset) for cell_id in names]
    return cells


def _cell(study: Study, planned: PlanMethod, method: Method, cell_id: str, dataset: PlanDataset) -> Cell:
    sampling = study.plan.sampling
    temperature = sampling.temperature if method.diverse else 0.0
    parameters = method.with_defaults(planned.parameters or {})
    return Cell(
        id=cell_id,
        method=method.name,
        decision_rule=method.decision_rule,
        selection=method.selection,
        pool=method.pool,
        parameters=dict(parameters) or None,
        sampling=Sampling(
            temperature=temperature if planned.temperature is None else planned.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            repeat_penalty=sampling.repeat_penalty,
        ),
        token_cap=planned.token_cap or study.plan.token_cap,
        prompts={name: study.prompts.sha256(name) for name in method.prompts},
        calls=method.ranges(parameters),
        expected_questions=[question.id for question in study.questions[dataset.id]],
    )


def _model(model: PlanModel, facts: Facts) -> Model:
    return Model(
        id=model.id,
        name=model.name,
        parameters=model.parameters or facts.parameters,
        file_sha256=facts.file_sha256,
        quantisation=facts.quantisation,
        chat_template_sha256=facts.chat_template_sha256,
        backend=facts.backend,
        context_size=facts.context_size,
        threads=facts.threads,
        batch_size=facts.batch_size,
        extra=dict(facts.extra) if facts.extra else None,
    )


def _dataset(dataset: PlanDataset, questions: Sequence[Question]) -> Dataset:
    drawn = None
    if dataset.sample is not None:
        drawn = Subsample(rule=SHUFFLE, seed=dataset.seed, size=len(questions))
    return Dataset(id=dataset.id, policy=dataset.policy, source=dataset.source, subsample=drawn)
