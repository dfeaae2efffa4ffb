"""Certificates: the proven bound on a decoded network's risk, and the record that states it. No torch here."""

from netpact.certificates.bound import FORMS, risk_bound
from netpact.certificates.box import BoxCertificate
from netpact.certificates.certificate import ARITHMETICS, ORDERS, PRIORS, Certificate
from netpact.certificates.helper import Helper, write_recipe
from netpact.certificates.json_form import check_keys, read_object
from netpact.certificates.length import code_bits, elias_delta_bits
from netpact.certificates.noise import clean_risk_bound
from netpact.certificates.original import OriginalCertificate, add_bounds
from netpact.certificates.second_opinion import Opinion, check_bound
from netpact.certificates.statement import Statement
from netpact.certificates.tail import invert_tail, log_tail

__all__ = [
    "ARITHMETICS",
    "FORMS",
    "ORDERS",
    "PRIORS",
    "BoxCertificate",
    "Certificate",
    "Helper",
    "Opinion",
    "OriginalCertificate",
    "Statement",
    "add_bounds",
    "check_bound",
    "check_keys",
    "clean_risk_bound",
    "code_bits",
    "elias_delta_bits",
    "invert_tail",
    "log_tail",
    "read_object",
    "risk_bound",
    "write_recipe",
]
