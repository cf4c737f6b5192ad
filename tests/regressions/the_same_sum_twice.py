"""Two equal sums in one aggregate: only one of them was found in the state, and the other raised KeyError."""

from anabranch.algebra.plan import Aggregate, AggregateCall
from anabranch.algebra.scalar import Ref
from tests.unit.delta.small import rows, scan

TOTAL = AggregateCall("sum", (Ref("o_amount"),))

COLUMNS = {"o": "amount"}
QUERY = Aggregate(scan("o", "amount"), (), (("one", TOTAL), ("other", TOTAL)))
HISTORY = [{"o": rows("1")}, {"o": rows("1", "2")}, {"o": rows()}]
