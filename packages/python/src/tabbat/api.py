"""Made by npm run generate from openapi.json. Do not edit."""

from typing import Any, Dict, List, Literal, Optional, TypedDict


class NinPersonPersonalInfo(TypedDict):
    #: Title, for example Mr or Mrs.
    title: str
    #: First name.
    first_name: str
    #: Middle name.
    middle_name: str
    #: Last name.
    last_name: str
    #: First, middle and last name.
    full_name: str
    #: Maiden name.
    maiden_name: str
    #: Gender: m or f.
    gender: str
    #: Phone number on the record, as 0803….
    phone_number: str
    #: Date of birth as day-month-year, for example 05-01-1990.
    date_of_birth: str
    #: Date of birth in words, for example Jan 5, 1990.
    formatted_date_of_birth: str
    #: Height in centimetres.
    height: str
    #: Marital status.
    marital_status: str
    #: Address of a picture of the person, or empty.
    image_url: str
    #: Religion.
    religion: str


class NinPersonNextOfKin(TypedDict):
    #: First name of the next of kin.
    firstname: str
    #: Surname of the next of kin.
    surname: str
    #: Address of the next of kin.
    address: str
    #: Local government area of the next of kin.
    lga: str
    #: Town of the next of kin.
    town: str
    #: State of the next of kin.
    state: str


class NinPersonResidentialInfo(TypedDict):
    #: Street address.
    address: str
    #: Local government area of residence.
    lga_of_residence: str
    #: State of residence.
    state_of_residence: str
    #: Kind of residence.
    residence_status: str


class NinPersonIndigeneInfo(TypedDict):
    #: Local government area of origin.
    lga_of_origin: str
    #: Place of origin; hidden by default.
    place_of_origin: str
    #: State of origin.
    state_of_origin: str
    #: Local government area of birth.
    lga_of_birth: str
    #: State of birth.
    state_of_birth: str
    #: Country of birth.
    country_of_birth: str


class NinPersonEducationProfession(TypedDict):
    #: Level of education.
    educational_level: str
    #: Profession.
    profession: str


class NinPerson(TypedDict):
    #: Reference of this verification.
    request_reference: str
    #: The NIN that was verified. For a virtual NIN, the NIN that the source returns, or the virtual NIN.
    nin_number: str
    #: Document number.
    document_no: str
    #: Always VERIFIED in a 200 answer.
    verification_status: Literal["VERIFIED"]
    #: Name of the verification service used.
    service_type: Literal["NIN"]
    personal_info: NinPersonPersonalInfo
    next_of_kin: NinPersonNextOfKin
    residential_info: NinPersonResidentialInfo
    indigene_info: NinPersonIndigeneInfo
    education_profession: NinPersonEducationProfession


class BvnPersonPersonalInfo(TypedDict):
    #: First name.
    first_name: str
    #: Middle name.
    middle_name: str
    #: Last name.
    last_name: str
    #: First, middle and last name.
    full_name: str
    #: E-mail address, or empty.
    email: str
    #: Gender: Male or Female.
    gender: str
    #: Phone number on the record, as 0803….
    phone_number: str
    #: Second phone number on the record.
    phone_number_2: Optional[str]
    #: Date of birth, for example 05-Jan-1990.
    date_of_birth: str
    #: Date of birth in words, for example January 5, 1990.
    formatted_date_of_birth: str
    #: Local government area of origin.
    lga_of_origin: str
    #: State of origin.
    state_of_origin: str
    #: Nationality.
    nationality: str
    #: Marital status.
    marital_status: str


class BvnPersonResidentialInfo(TypedDict):
    #: State of residence.
    state_of_residence: str
    #: Local government area of residence.
    lga_of_residence: str
    #: Street address.
    residential_address: str


class BvnPerson(TypedDict):
    #: Reference of this verification.
    request_reference: str
    #: The BVN that was verified.
    bvn_number: str
    #: Name on the card.
    name_on_card: str
    #: Branch of enrolment.
    enrolment_branch: str
    #: Code of the bank of enrolment.
    enrolment_bank: str
    #: Date of registration in words, for example March 21, 2018.
    formatted_registration_date: Optional[str]
    #: Level of the account, in words.
    level_of_account: str
    #: NIN linked to the BVN, or empty.
    nin: str
    #: Watch list entry; null when there is none.
    watchlisted: Optional[str]
    #: Always VERIFIED in a 200 answer.
    verification_status: Literal["VERIFIED"]
    #: Name of the verification service used.
    service_type: Literal["BVN"]
    personal_info: BvnPersonPersonalInfo
    residential_info: BvnPersonResidentialInfo


class InternetBundle(TypedDict):
    #: Provider type marker, the same for all items of one look-up.
    type: str
    #: Bundle code.
    code: str
    #: Amount in naira, as text.
    amount: str
    #: Price in naira, as text; equal to the amount.
    price: str
    #: Label of the bundle; may carry leading or trailing spaces.
    description: str
    #: How long the bundle lasts; may be empty.
    duration: str


class SmeBundle(TypedDict):
    #: Label of the bundle.
    description: str
    #: Code of the bundle.
    code: str


class TvAddOn(TypedDict):
    #: Code of the add-on.
    add_on_product_code: str
    #: Code of the base product.
    product_code: str
    #: Name of the add-on.
    name: str
    #: Price in naira, as text.
    price: str
    #: TV provider type marker.
    type: str


class _BatchRowAlways(TypedDict):
    #: The verification.
    operation: Literal["verify_nin", "verify_bvn"]
    #: Phone number of the customer.
    phone: str


class BatchRow(_BatchRowAlways, total=False):
    #: For verify_nin: 11 digits, as a string.
    nin: str
    #: For verify_bvn: 11 digits, as a string.
    bvn: str
    #: For verify_bvn: an amount as decimal text.
    amount: str
    #: First name of the customer, to be compared with the record.
    first_name: str
    #: Last name of the customer, to be compared with the record.
    last_name: str
    #: Date of birth of the customer, to be compared with the record.
    date_of_birth: str
    #: Your own word for the row, returned with its result.
    reference: str
    #: As X-Consent-Reference, for this row.
    consent_reference: str


class NewBatchCounts(TypedDict):
    #: Rows that wait or are being verified.
    waiting: int
    #: Rows that were verified.
    verified: int
    #: Rows that could not be verified against the phone.
    not_verified: int
    #: Rows that ended with another error, such as quota_exceeded.
    failed: int
    #: Rows that no source answered in time.
    expired: int
    #: Rows that were cancelled before they began.
    cancelled: int
    #: Rows that were not accepted. See the refusals.
    refused: int


class NewBatchRefusals(TypedDict):
    #: Line of the body on which the row begins; in a JSON array its position. Both count from 1.
    line: int
    reference: Optional[str]
    field: Optional[str]
    #: What is wrong. It quotes no value.
    message: str


class NewBatch(TypedDict):
    #: Id of the batch.
    id: str
    #: stopping: cancelled, while rows that had begun are finished.
    state: Literal["running", "stopping", "completed", "cancelled"]
    #: The mode of the key.
    mode: Literal["test", "live"]
    #: Rows in the body.
    rows: int
    counts: NewBatchCounts
    #: When the batch was accepted.
    accepted_at: str
    ended_at: Optional[str]
    estimated_end: Optional[str]
    kept_until: Optional[str]
    #: Every refused row.
    refusals: List[NewBatchRefusals]


class BatchCounts(TypedDict):
    #: Rows that wait or are being verified.
    waiting: int
    #: Rows that were verified.
    verified: int
    #: Rows that could not be verified against the phone.
    not_verified: int
    #: Rows that ended with another error, such as quota_exceeded.
    failed: int
    #: Rows that no source answered in time.
    expired: int
    #: Rows that were cancelled before they began.
    cancelled: int
    #: Rows that were not accepted. See the refusals.
    refused: int


class Batch(TypedDict):
    #: Id of the batch.
    id: str
    #: stopping: cancelled, while rows that had begun are finished.
    state: Literal["running", "stopping", "completed", "cancelled"]
    #: The mode of the key.
    mode: Literal["test", "live"]
    #: Rows in the body.
    rows: int
    counts: BatchCounts
    #: When the batch was accepted.
    accepted_at: str
    ended_at: Optional[str]
    estimated_end: Optional[str]
    kept_until: Optional[str]


class BatchResultMatch(TypedDict, total=False):
    first_name: Literal["exact", "partial", "no"]
    last_name: Literal["exact", "partial", "no"]
    date_of_birth: Literal["exact", "partial", "no"]


class BatchResultErrors(TypedDict):
    field: Optional[str]
    #: What is wrong.
    message: str


class _BatchResultAlways(TypedDict):
    #: Line of the row in the body.
    line: int
    reference: Optional[str]
    operation: Optional[str]
    #: gone: the answer is no longer kept.
    state: Literal["refused", "waiting", "running", "done", "expired", "cancelled", "gone"]
    status: Optional[int]
    #: Whether the row is VERIFIED.
    success: bool
    code: Optional[str]
    message: Optional[str]
    match: Optional[BatchResultMatch]
    data: Optional[Dict[str, Any]]


class BatchResult(_BatchResultAlways, total=False):
    #: Of a refused row.
    errors: List[BatchResultErrors]
