from netpact.pacts.fresh.disagreement import DisagreementCount as DisagreementCount
from netpact.pacts.fresh.disagreement import count_disagreements as count_disagreements
from netpact.pacts.fresh.networks import hash_network as hash_network
from netpact.pacts.fresh.opening import open_unlabelled as open_unlabelled
from netpact.pacts.originals.box_checking import verify_box as verify_box
from netpact.pacts.originals.box_stating import certify_box as certify_box
from netpact.pacts.originals.checking import verify_original as verify_original
from netpact.pacts.originals.stating import certify_original as certify_original
