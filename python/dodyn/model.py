"""Models and motions as plain dataclasses. They print themselves as the texts that the program reads, and read such texts.

    from dodyn.model import Actuator, Link, Model, Motion, Parameter, Phase, Point

    leg = Model("leg", dimension=2, parameters={"length": Parameter(0.5, "m")}, parts=[
        Link("thigh", joint="revolute", end=("length", 0), mass=2),
        Actuator("hip", coordinate="thigh", limit="40 N m"),
    ])
    print(leg)                                   # the text of leg.model
    assert Model.read(str(leg)) == Model.read(open("leg.model").read())

    swing = Motion(leg, phases=[Phase("swing", intervals=40, duration=1)],
                   initial_state={"thigh": 0}, goal={"thigh": "90 deg"}, cost={"squared-control": 1})
    dodyn.Study(swing, design={"length": (0.3, 0.8)})

A value is a number, or an expression as a text (`"2*length"`, `"40 N m"`), or a sequence of them. A key of the text that has a `-`
has a `_` here, and `from` is `from_`. The grammar of both texts is in docs/models.md and docs/motions.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Optional, TypeVar, Union

from .program import Value, text_of

Entries = dict[str, Value]
Part = TypeVar("Part", bound="Section")


class TextError(ValueError):
    """A text that cannot be parsed; the message is one line with the line number."""


@dataclass
class Parameter:
    """A parameter of a model: its value, or an expression of earlier parameters, and a comment. The comment begins with
    the unit if the value has none."""

    value: Value
    comment: str = ""


def _value_text(value: Any) -> str:
    """Returns a value in the syntax of the text; a sequence of sequences is a list of points."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, (list, tuple)) for one in value):
        return "; ".join(text_of(one) for one in value)
    return text_of(value)


def _key(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


@dataclass
class Section:
    """One section of a text; base class of the sections below."""

    kind: ClassVar[str] = ""
    free: ClassVar[bool] = False  # any key is valid: the entries are a dictionary

    name: str

    def entries(self) -> Entries:
        """Returns its keys and values, in the order of the text."""
        if self.free:
            return dict(getattr(self, "values"))
        given = ((_key(one.name), getattr(self, one.name)) for one in fields(self) if one.name != "name")
        return {key: value for key, value in given if value is not None}

    def __str__(self) -> str:
        lines = [f"{key} = {_value_text(value)}" for key, value in self.entries().items()]
        return "\n".join([f"[{self.kind} {self.name}]" if self.name else f"[{self.kind}]", *lines])

    @classmethod
    def of(cls: type[Part], name: str, entries: Mapping[str, str], line: int) -> Part:
        """Returns the section with these entries. Throws TextError if it does not have one of the keys."""
        if cls.free:
            return cls(name, dict(entries))  # type: ignore[call-arg]
        known = {_key(one.name): one.name for one in fields(cls) if one.name != "name"}
        for key in entries:
            if key not in known:
                raise TextError(f"line {line}: unknown key '{key}' in [{cls.kind}]; allowed: {', '.join(known)}")
        return cls(name, **{known[key]: value for key, value in entries.items()})


Given = Optional[Value]  # None: not given in the text


@dataclass
class Link(Section):
    kind: ClassVar[str] = "link"
    parent: Value = "ground"
    joint: Value = "fixed"
    count: Given = None
    coordinates: Given = None
    follows: Given = None
    at: Given = None
    end: Given = None
    mass: Given = None
    centre: Given = None
    inertia: Given = None
    products: Given = None
    counterpart: Given = None
    surface: Given = None


@dataclass
class Mass(Section):
    kind: ClassVar[str] = "mass"
    link: Given = None
    at: Given = None
    mass: Given = None
    counterpart: Given = None


@dataclass
class Shape(Section):
    kind: ClassVar[str] = "shape"
    link: Given = None
    vertices: Given = None
    box: Given = None
    polygon: Given = None
    prism: Given = None
    ball: Given = None
    corners: Given = None
    scale: Given = None
    at: Given = None
    turn: Given = None
    density: Given = None
    mass: Given = None
    outward: Given = None


@dataclass
class Point(Section):
    kind: ClassVar[str] = "point"
    link: Given = None
    at: Given = None


@dataclass
class Spring(Section):
    kind: ClassVar[str] = "spring"
    coordinate: Given = None
    from_: Given = None
    to: Given = None
    stiffness: Given = None
    rest: Given = None
    length: Given = None
    damping: Given = None


@dataclass
class Charge(Section):
    kind: ClassVar[str] = "charge"
    link: Given = None
    at: Given = None
    value: Given = None


@dataclass
class Drag(Section):
    kind: ClassVar[str] = "drag"
    link: Given = None
    linear: Given = None
    angular: Given = None


@dataclass
class Potential(Section):
    kind: ClassVar[str] = "potential"
    energy: Given = None


@dataclass
class Rotor(Section):
    kind: ClassVar[str] = "rotor"
    place: Given = None
    mass: Given = None


@dataclass
class Force(Section):
    kind: ClassVar[str] = "force"
    coordinate: Given = None
    link: Given = None
    at: Given = None
    force: Given = None


@dataclass
class Actuator(Section):
    kind: ClassVar[str] = "actuator"
    coordinate: Given = None
    link: Given = None
    at: Given = None
    force: Given = None
    torque: Given = None
    axes: Given = None
    limit: Given = None
    loss: Given = None


@dataclass
class JointLimit(Section):
    kind: ClassVar[str] = "joint-limit"
    coordinate: Given = None
    from_: Given = None
    to: Given = None
    speed: Given = None


@dataclass
class Knee(Section):
    kind: ClassVar[str] = "knee"
    coordinate: Given = None
    flexion: Given = None


@dataclass
class Surface(Section):
    kind: ClassVar[str] = "surface"
    name: str = ""
    restitution: Given = None
    friction: Given = None


@dataclass
class Contact(Section):
    """Without a name: which links touch, {"cup, cone": "yes", "others": "no"}. With one: a contact of a model of pieces, or
    of a motion."""

    kind: ClassVar[str] = "contact"
    free: ClassVar[bool] = True
    name: str = ""
    values: Entries = field(default_factory=dict)


@dataclass
class Stop(Section):
    kind: ClassVar[str] = "stop"
    coordinate: Given = None
    from_: Given = None
    to: Given = None
    restitution: Given = None
    latch: Given = None


@dataclass
class Constraint(Section):
    kind: ClassVar[str] = "constraint"
    zero: Given = None


@dataclass
class Reset(Section):
    kind: ClassVar[str] = "reset"
    free: ClassVar[bool] = True
    values: Entries = field(default_factory=dict)


@dataclass
class InitialState(Section):
    kind: ClassVar[str] = "initial-state"
    free: ClassVar[bool] = True
    name: str = ""
    values: Entries = field(default_factory=dict)


@dataclass
class Require(Section):
    kind: ClassVar[str] = "require"
    free: ClassVar[bool] = True
    name: str = ""
    values: Entries = field(default_factory=dict)


_PARTS: tuple[type[Section], ...] = (
    Link, Mass, Shape, Point, Spring, Charge, Drag, Potential, Rotor, Force, Actuator, JointLimit, Knee, Surface, Contact, Stop,
    Constraint, Reset, InitialState, Require,
)  # fmt: skip
PARTS: dict[str, type[Section]] = {part.kind: part for part in _PARTS}


@dataclass
class _Read:
    """A section as parsed from a text: values and comments by key."""

    kind: str
    name: str
    line: int
    values: dict[str, str]
    comments: dict[str, str]


def _sections(text: str) -> list[_Read]:
    found: list[_Read] = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        before, _, comment = line.partition("#")
        content = before.strip()
        if not content:
            continue
        title = re.fullmatch(r"\[\s*(\S+)\s*(.*?)\s*\]", content)
        if title:
            found.append(_Read(title[1], title[2], number, {}, {}))
            continue
        key, equals, value = content.partition("=")
        if not equals or not found:
            raise TextError(f"line {number}: '{content}' is neither a section nor an entry")
        key = key.strip()
        if key in found[-1].values:
            raise TextError(f"line {number}: {key} is given twice")
        found[-1].values[key] = value.strip()
        found[-1].comments[key] = comment.strip()
    return found


@dataclass
class Model:
    """A model: its name and dimension, parameters by name, and parts in the order of the text. `gravity` is in m/s2.

    swing_foot       the link that is the foot of the swing leg, of a model that walks
    charge_constant  of [charge] parts
    """

    name: str = ""
    dimension: int = 2
    gravity: Given = None
    swing_foot: Given = None
    charge_constant: Given = None
    parameters: dict[str, Union[Parameter, Value]] = field(default_factory=dict)
    parts: list[Section] = field(default_factory=list)

    def __str__(self) -> str:
        head: Entries = {"name": self.name} if self.name else {}
        head["dimension"] = self.dimension
        for key in ("gravity", "swing_foot", "charge_constant"):
            if getattr(self, key) is not None:
                head[_key(key)] = getattr(self, key)
        blocks = ["\n".join(["[model]", *(f"{key} = {_value_text(value)}" for key, value in head.items())])]
        lines = ["[parameters]"]
        for name, given in self.parameters.items():
            one = given if isinstance(given, Parameter) else Parameter(given)
            lines.append(f"{name} = {_value_text(one.value)}" + (f"  # {one.comment}" if one.comment else ""))
        blocks += ["\n".join(lines)] if self.parameters else []
        return "\n\n".join([*blocks, *map(str, self.parts)]) + "\n"

    @classmethod
    def read(cls, text: str) -> Model:
        """Returns the model of a text. Its values are the expressions in the text; only parameters keep their comments.
        Throws TextError. The program checks names and values (`dodyn check`)."""
        model = cls()
        head = {_key(one): one for one in ("name", "dimension", "gravity", "swing_foot", "charge_constant")}
        for section in _sections(text):
            if section.kind == "model":
                for key, value in section.values.items():
                    if key not in head:
                        raise TextError(f"line {section.line}: unknown key '{key}' in [model]; allowed: {', '.join(head)}")
                    setattr(model, head[key], int(value) if key == "dimension" else value)
            elif section.kind == "parameters":
                for key, value in section.values.items():
                    model.parameters[key] = Parameter(value, section.comments[key])
            elif section.kind in PARTS:
                model.parts.append(PARTS[section.kind].of(section.name, section.values, section.line))
            else:
                raise TextError(f"line {section.line}: unknown section [{section.kind}]; allowed: model, parameters, {', '.join(PARTS)}")
        return model

    def find(self, kind: type[Part], name: str) -> Part:
        """Returns the part of a kind and name: `model.find(Link, "foot").mass = 2`. Throws KeyError."""
        found = {part.name: part for part in self.parts if isinstance(part, kind)}
        if name in found:
            return found[name]
        raise KeyError(f"no {kind.__name__} {name}; there are: {', '.join(found) or 'none'}")


@dataclass
class Phase(Section):
    """A phase of a motion: constraints held, intervals, duration (s, or "0.1 .. 0.5"), and conditions."""

    kind: ClassVar[str] = "phase"
    fixed: Given = None
    hold: Given = None
    intervals: Given = None
    duration: Given = None
    require: Given = None


@dataclass
class Waypoint(Section):
    kind: ClassVar[str] = "waypoint"
    free: ClassVar[bool] = True
    values: Entries = field(default_factory=dict)


@dataclass
class Motion:
    """An optimal motion of a model: phases, conditions at its ends, and its cost. `settings` are all other keys by
    section, {"study": {"max-evaluations": 20}, "motion": {"initial-guesses": 8}}."""

    model: Union[Model, str]
    phases: Sequence[Phase] = ()
    initial_state: Entries = field(default_factory=dict)
    goal: Optional[Entries] = None  # None: no goal, such as in a periodic motion
    cost: Entries = field(default_factory=dict)
    periodic: Optional[Entries] = None
    guess: Entries = field(default_factory=dict)
    parameters: Entries = field(default_factory=dict)
    require: Entries = field(default_factory=dict)
    avoid: Entries = field(default_factory=dict)
    contacts: Sequence[Contact] = ()
    waypoints: Sequence[Waypoint] = ()
    settings: dict[str, Entries] = field(default_factory=dict)

    _OWN: ClassVar[tuple[str, ...]] = ("parameters", "initial_state", "goal", "periodic", "guess", "avoid", "cost", "require")

    def sections(self) -> dict[str, dict[str, Any]]:
        """Returns the sections of the configuration. The value of motion.model is the Model itself, if this has one."""
        found: dict[str, dict[str, Any]] = {"study": {"evaluator": "motion"}}
        for section, entries in self.settings.items():
            found.setdefault(section, {}).update(entries)
        found.setdefault("motion", {})["model"] = self.model
        for part in (*self.phases, *self.contacts, *self.waypoints):
            found[f"{part.kind} {part.name}"] = part.entries()
        for name in self._OWN:
            entries = getattr(self, name)
            if entries or (entries is not None and name in ("goal", "periodic")):
                found[_key(name)] = dict(entries)
        return found

    def __str__(self) -> str:
        blocks: list[str] = []
        for title, entries in self.sections().items():
            lines = (
                f"{key} = {f'{value.name}.model' if isinstance(value, Model) else _value_text(value)}" for key, value in entries.items()
            )
            blocks.append("\n".join([f"[{title}]", *lines]))
        return "\n\n".join(blocks) + "\n"

    @classmethod
    def read(cls, text: str, folder: Union[str, Path, None] = None) -> Motion:
        """Returns the motion of a configuration. Its model is read if it is a file in `folder`; otherwise the name is kept. Throws TextError."""
        motion = cls("")
        own = {_key(name): name for name in cls._OWN}
        phases: list[Phase] = []
        contacts: list[Contact] = []
        waypoints: list[Waypoint] = []
        for section in _sections(text):
            values: Entries = dict(section.values)
            if section.kind == "phase":
                phases.append(Phase.of(section.name, section.values, section.line))
            elif section.kind == "contact":
                contacts.append(Contact(section.name, values))
            elif section.kind == "waypoint":
                waypoints.append(Waypoint(section.name, values))
            elif section.kind in own and not section.name:
                setattr(motion, own[section.kind], {**(getattr(motion, own[section.kind]) or {}), **values})
            else:
                title = f"{section.kind} {section.name}" if section.name else section.kind
                motion.settings.setdefault(title, {}).update(values)
        motion.phases, motion.contacts, motion.waypoints = phases, contacts, waypoints
        evaluator = motion.settings.get("study", {}).pop("evaluator", "none")
        if evaluator != "motion":
            raise TextError(f"the configuration is for the evaluator {evaluator}, not motion")
        name = str(motion.settings.get("motion", {}).pop("model", ""))
        file = Path(folder or ".") / name
        motion.model = Model.read(file.read_text(encoding="utf-8")) if folder is not None and file.is_file() else name
        return motion


def write_models(sections: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, dict[str, Any]]:
    """Writes each Model among the values to a file of `folder`, and returns the sections with the file's name in its place."""
    written: dict[str, dict[str, Any]] = {}
    for title, entries in sections.items():
        written[title] = {}
        for key, value in entries.items():
            if isinstance(value, Model):
                file = f"{value.name or 'unnamed'}.model"
                (folder / file).write_text(str(value), encoding="utf-8")
                value = file
            written[title][key] = value
    return written
