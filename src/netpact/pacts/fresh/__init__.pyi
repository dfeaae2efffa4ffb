from netpact.pacts.fresh.fidelity import certify_fidelity as certify_fidelity
from netpact.pacts.fresh.fidelity import verify_fidelity as verify_fidelity
from netpact.pacts.fresh.hold_out import certify_hold_out as certify_hold_out
from netpact.pacts.fresh.hold_out import verify_hold_out as verify_hold_out
from netpact.pacts.fresh.opening import open_labelled as open_labelled
from netpact.pacts.fresh.opening import open_unlabelled as open_unlabelled
