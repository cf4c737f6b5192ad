"""Anabranch keeps derived tables fresh on Spark."""

from anabranch.clock import ManualClock as ManualClock
from anabranch.errors import AnabranchError as AnabranchError
from anabranch.errors import Notice as Notice
from anabranch.events import Event as Event
from anabranch.lake import Lake as Lake
from anabranch.lake import connect as connect
from anabranch.read.snapshot import Snapshot as Snapshot
from anabranch.write.transaction import Transaction as Transaction
