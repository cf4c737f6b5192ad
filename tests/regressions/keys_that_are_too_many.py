"""Groups found by too many keys: those that the change doesn't touch were counted after it, not before."""

from anabranch.algebra.plan import Aggregate, Join, Scan
from anabranch.algebra.scalar import Call, Ref
from tests.unit.delta.small import rows, scan

GROUPS = Aggregate(scan("r", "x"), (("g", Ref("r_x")),), ())
OTHERS = Scan("r", (("other", "x"),))

COLUMNS = {"r": "x"}
QUERY = Join(GROUPS, OTHERS, "inner", Call("is null", (Ref("g"),)))
HISTORY = [{"r": rows("1", "-")}, {"r": rows("1", "-", "3")}, {"r": rows("-", "3")}]
