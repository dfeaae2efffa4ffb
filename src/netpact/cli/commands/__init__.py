"""One function per command; the imports inside them keep `netpact --help` quick."""

from netpact.cli.commands.bounds import bounds
from netpact.cli.commands.certify import certify
from netpact.cli.commands.compare import compare
from netpact.cli.commands.compress import compress
from netpact.cli.commands.data import data
from netpact.cli.commands.demo import demo
from netpact.cli.commands.design import design
from netpact.cli.commands.experiment import experiment
from netpact.cli.commands.info import info
from netpact.cli.commands.measure import measure
from netpact.cli.commands.methods import methods
from netpact.cli.commands.ranks import ranks
from netpact.cli.commands.report import report
from netpact.cli.commands.search import search
from netpact.cli.commands.train import train
from netpact.cli.commands.verify import verify

# In the order of --help.
COMMANDS = (
    *(demo, data, design, train, measure, methods, ranks, compress),
    *(compare, search, certify, verify, info, bounds, experiment, report),
)
