// Made by npm run generate from openapi.json. Do not edit.

/** The bodies of requests and responses. */
export type Schemas = {
  Error: {
    success: false
    /** What happened, for programs. */
    code: "pending" | "malformed_request" | "malformed_json" | "conflicting_input" | "forbidden" | "not_found" | "provider_not_found" | "product_not_found" | "gone" | "method_not_allowed" | "request_timeout" | "body_too_large" | "batch_too_large" | "unsupported_media_type" | "unsupported_batch_type" | "validation_failed" | "not_verified" | "rate_limited" | "idempotency_in_progress" | "already_begun" | "idempotency_key_reused" | "too_many_attempts" | "quota_exceeded" | "headers_too_large" | "internal_error" | "source_bad_response" | "source_unavailable" | "audit_unavailable" | "overloaded" | "queue_full" | "expired" | "source_timeout"
    /** What happened, for people. */
    message: string
    /** Whether the same request may succeed later. */
    retryable: boolean
    /** The X-Request-Id of this answer. */
    request_id: string
    /** Every bad field, and what is wrong with it. */
    errors?: { [name: string]: (string)[] }
    data?: {
      /** Reference of this verification, also of one that failed. On 409, of the verification in progress. */
      request_reference: string
      verification_status?: "NOT_VERIFIED" | "PENDING" | "EXPIRED"
    }
  }
  Event: {
    type: "verification.completed" | "verification.expired" | "batch.completed" | "source.down" | "source.up" | "spend.near_cap" | "audit.unavailable" | "audit.checkpoint" | "catalogue.changed" | "webhook.test"
    timestamp: string
    data: {
      /** The verification, the batch, or what the event is about. */
      reference: string
      status: string
    }
  }
  Unauthenticated: {
    /** Says that the caller is unauthenticated. */
    message: string
  }
  /** The number to verify and the phone it must belong to. Optionally, details of the person to compare. */
  VerifyNinRequest: {
    /** National identity number of the customer: 11 digits, as a string. Or a virtual NIN: two letters, 12 digits and two letters, in any case. */
    nin: string
    /** Phone number of the customer, in any usual spelling of a Nigerian mobile number. */
    phone: string
    /** First name of the customer, to be compared with the record: see the response header Tabbat-Match. */
    first_name?: string | null
    /** Last name of the customer, to be compared with the record: see the response header Tabbat-Match. */
    last_name?: string | null
    /** Date of birth of the customer, to be compared with the record: see the response header Tabbat-Match. */
    date_of_birth?: string | null
  }
  VerifyNinResponse: {
    success: true
    /** Completion message of the verification. */
    message: string
    data: {
      /** Reference of this verification. */
      request_reference: string
      /** The NIN that was verified. For a virtual NIN, the NIN that the source returns, or the virtual NIN. */
      nin_number: string
      /** Document number. */
      document_no: string
      /** Always VERIFIED in a 200 answer. */
      verification_status: "VERIFIED"
      /** Name of the verification service used. */
      service_type: "NIN"
      personal_info: {
        /** Title, for example Mr or Mrs. */
        title: string
        /** First name. */
        first_name: string
        /** Middle name. */
        middle_name: string
        /** Last name. */
        last_name: string
        /** First, middle and last name. */
        full_name: string
        /** Maiden name. */
        maiden_name: string
        /** Gender: m or f. */
        gender: string
        /** Phone number on the record, as 0803…. */
        phone_number: string
        /** Date of birth as day-month-year, for example 05-01-1990. */
        date_of_birth: string
        /** Date of birth in words, for example Jan 5, 1990. */
        formatted_date_of_birth: string
        /** Height in centimetres. */
        height: string
        /** Marital status. */
        marital_status: string
        /** Address of a picture of the person, or empty. */
        image_url: string
        /** Religion. */
        religion: string
      }
      next_of_kin: {
        /** First name of the next of kin. */
        firstname: string
        /** Surname of the next of kin. */
        surname: string
        /** Address of the next of kin. */
        address: string
        /** Local government area of the next of kin. */
        lga: string
        /** Town of the next of kin. */
        town: string
        /** State of the next of kin. */
        state: string
      }
      residential_info: {
        /** Street address. */
        address: string
        /** Local government area of residence. */
        lga_of_residence: string
        /** State of residence. */
        state_of_residence: string
        /** Kind of residence. */
        residence_status: string
      }
      indigene_info: {
        /** Local government area of origin. */
        lga_of_origin: string
        /** Place of origin; hidden by default. */
        place_of_origin: string
        /** State of origin. */
        state_of_origin: string
        /** Local government area of birth. */
        lga_of_birth: string
        /** State of birth. */
        state_of_birth: string
        /** Country of birth. */
        country_of_birth: string
      }
      education_profession: {
        /** Level of education. */
        educational_level: string
        /** Profession. */
        profession: string
      }
    }
  }
  /** The number to verify, the phone it must belong to, and an amount for the record. Optionally, details of the person to compare. */
  VerifyBvnRequest: {
    /** Bank verification number of the customer: 11 digits, as a string. */
    bvn: string
    /** Phone number of the customer, in any usual spelling of a Nigerian mobile number. */
    phone: string
    /** An amount as decimal text. It is validated and audited, and never sent to a source. */
    amount: string
    /** First name of the customer, to be compared with the record: see the response header Tabbat-Match. */
    first_name?: string | null
    /** Last name of the customer, to be compared with the record: see the response header Tabbat-Match. */
    last_name?: string | null
    /** Date of birth of the customer, to be compared with the record: see the response header Tabbat-Match. */
    date_of_birth?: string | null
  }
  VerifyBvnResponse: {
    success: true
    /** Completion message of the verification. */
    message: string
    data: {
      /** Reference of this verification. */
      request_reference: string
      /** The BVN that was verified. */
      bvn_number: string
      /** Name on the card. */
      name_on_card: string
      /** Branch of enrolment. */
      enrolment_branch: string
      /** Code of the bank of enrolment. */
      enrolment_bank: string
      /** Date of registration in words, for example March 21, 2018. */
      formatted_registration_date: string | null
      /** Level of the account, in words. */
      level_of_account: string
      /** NIN linked to the BVN, or empty. */
      nin: string
      /** Watch list entry; null when there is none. */
      watchlisted: string | null
      /** Always VERIFIED in a 200 answer. */
      verification_status: "VERIFIED"
      /** Name of the verification service used. */
      service_type: "BVN"
      personal_info: {
        /** First name. */
        first_name: string
        /** Middle name. */
        middle_name: string
        /** Last name. */
        last_name: string
        /** First, middle and last name. */
        full_name: string
        /** E-mail address, or empty. */
        email: string
        /** Gender: Male or Female. */
        gender: string
        /** Phone number on the record, as 0803…. */
        phone_number: string
        /** Second phone number on the record. */
        phone_number_2: string | null
        /** Date of birth, for example 05-Jan-1990. */
        date_of_birth: string
        /** Date of birth in words, for example January 5, 1990. */
        formatted_date_of_birth: string
        /** Local government area of origin. */
        lga_of_origin: string
        /** State of origin. */
        state_of_origin: string
        /** Nationality. */
        nationality: string
        /** Marital status. */
        marital_status: string
      }
      residential_info: {
        /** State of residence. */
        state_of_residence: string
        /** Local government area of residence. */
        lga_of_residence: string
        /** Street address. */
        residential_address: string
      }
    }
  }
  ListInternetBundlesResponse: {
    success: true
    data: {
      /** Status text. */
      status: string
      /** Message text. */
      message: string
      code: 200
      data: ({
        /** Provider type marker, the same for all items of one look-up. */
        type: string
        /** Bundle code. */
        code: string
        /** Amount in naira, as text. */
        amount: string
        /** Price in naira, as text; equal to the amount. */
        price: string
        /** Label of the bundle; may carry leading or trailing spaces. */
        description: string
        /** How long the bundle lasts; may be empty. */
        duration: string
      })[]
    }
  }
  ListSmeBundlesResponse: {
    success: true
    /** Status text. */
    status: string
    /** Message text. */
    message: string
    data: ({
      /** Label of the bundle. */
      description: string
      /** Code of the bundle. */
      code: string
    })[]
  }
  /** The base product whose add-ons are listed. */
  ListTvAddOnsRequest: {
    /** TV provider: DSTV, GOTV, STARTIMES, SHOWMAX, in any case. */
    type: string
    /** Code of the base product, in any case. */
    productCode: string
  }
  ListTvAddOnsResponse: {
    success: true
    /** Status text. */
    status: string
    /** Message text that names the product code. */
    message: string
    data: ({
      /** Code of the add-on. */
      add_on_product_code: string
      /** Code of the base product. */
      product_code: string
      /** Name of the add-on. */
      name: string
      /** Price in naira, as text. */
      price: string
      /** TV provider type marker. */
      type: string
    })[]
  }
  GetVerificationResponse: Schemas['VerifyNinResponse'] | Schemas['VerifyBvnResponse']
  CreateBatchRequest: ({
    /** The verification. */
    operation: "verify_nin" | "verify_bvn"
    /** For verify_nin: 11 digits, as a string. */
    nin?: string
    /** For verify_bvn: 11 digits, as a string. */
    bvn?: string
    /** Phone number of the customer. */
    phone: string
    /** For verify_bvn: an amount as decimal text. */
    amount?: string
    /** First name of the customer, to be compared with the record. */
    first_name?: string
    /** Last name of the customer, to be compared with the record. */
    last_name?: string
    /** Date of birth of the customer, to be compared with the record. */
    date_of_birth?: string
    /** Your own word for the row, returned with its result. */
    reference?: string
    /** As X-Consent-Reference, for this row. */
    consent_reference?: string
  })[]
  CreateBatchResponse: {
    success: true
    /** What the batch does. */
    message: string
    data: {
      /** Id of the batch. */
      id: string
      /** stopping: cancelled, while rows that had begun are finished. */
      state: "running" | "stopping" | "completed" | "cancelled"
      /** The mode of the key. */
      mode: "test" | "live"
      /** Rows in the body. */
      rows: number
      counts: {
        /** Rows that wait or are being verified. */
        waiting: number
        /** Rows that were verified. */
        verified: number
        /** Rows that could not be verified against the phone. */
        not_verified: number
        /** Rows that ended with another error, such as quota_exceeded. */
        failed: number
        /** Rows that no source answered in time. */
        expired: number
        /** Rows that were cancelled before they began. */
        cancelled: number
        /** Rows that were not accepted. See the refusals. */
        refused: number
      }
      /** When the batch was accepted. */
      accepted_at: string
      ended_at: string | null
      estimated_end: string | null
      kept_until: string | null
      /** Every refused row. */
      refusals: ({
        /** Line of the body on which the row begins; in a JSON array its position. Both count from 1. */
        line: number
        reference: string | null
        field: string | null
        /** What is wrong. It quotes no value. */
        message: string
      })[]
    }
  }
  GetBatchResponse: {
    success: true
    /** What the batch does. */
    message: string
    data: {
      /** Id of the batch. */
      id: string
      /** stopping: cancelled, while rows that had begun are finished. */
      state: "running" | "stopping" | "completed" | "cancelled"
      /** The mode of the key. */
      mode: "test" | "live"
      /** Rows in the body. */
      rows: number
      counts: {
        /** Rows that wait or are being verified. */
        waiting: number
        /** Rows that were verified. */
        verified: number
        /** Rows that could not be verified against the phone. */
        not_verified: number
        /** Rows that ended with another error, such as quota_exceeded. */
        failed: number
        /** Rows that no source answered in time. */
        expired: number
        /** Rows that were cancelled before they began. */
        cancelled: number
        /** Rows that were not accepted. See the refusals. */
        refused: number
      }
      /** When the batch was accepted. */
      accepted_at: string
      ended_at: string | null
      estimated_end: string | null
      kept_until: string | null
    }
  }
  CancelBatchResponse: {
    success: true
    /** What the batch does. */
    message: string
    data: {
      /** Id of the batch. */
      id: string
      /** stopping: cancelled, while rows that had begun are finished. */
      state: "running" | "stopping" | "completed" | "cancelled"
      /** The mode of the key. */
      mode: "test" | "live"
      /** Rows in the body. */
      rows: number
      counts: {
        /** Rows that wait or are being verified. */
        waiting: number
        /** Rows that were verified. */
        verified: number
        /** Rows that could not be verified against the phone. */
        not_verified: number
        /** Rows that ended with another error, such as quota_exceeded. */
        failed: number
        /** Rows that no source answered in time. */
        expired: number
        /** Rows that were cancelled before they began. */
        cancelled: number
        /** Rows that were not accepted. See the refusals. */
        refused: number
      }
      /** When the batch was accepted. */
      accepted_at: string
      ended_at: string | null
      estimated_end: string | null
      kept_until: string | null
    }
  }
  GetBatchResultsResponse: {
    /** Line of the row in the body. */
    line: number
    reference: string | null
    operation: string | null
    /** gone: the answer is no longer kept. */
    state: "refused" | "waiting" | "running" | "done" | "expired" | "cancelled" | "gone"
    status: number | null
    /** Whether the row is VERIFIED. */
    success: boolean
    code: string | null
    message: string | null
    match: {
      first_name?: "exact" | "partial" | "no"
      last_name?: "exact" | "partial" | "no"
      date_of_birth?: "exact" | "partial" | "no"
    } | null
    /** Of a refused row. */
    errors?: ({
      field: string | null
      /** What is wrong. */
      message: string
    })[]
    data: { [name: string]: unknown } | null
  }
}
