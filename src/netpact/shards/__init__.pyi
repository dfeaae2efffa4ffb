from netpact.shards.cutting import Shards as Shards
from netpact.shards.going import HERE as HERE
from netpact.shards.going import Execution as Execution
from netpact.shards.going import go_through as go_through
from netpact.shards.going import shard_done as shard_done
from netpact.shards.shard import Shard as Shard
