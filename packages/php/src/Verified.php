<?php

declare(strict_types=1);

namespace Tabbat;

/** The record exists and its phone is the phone of the request. */
final class Verified extends VerificationResult
{
    /**
     * @internal
     * @param Record $person The fields of the API. No dump shows them.
     * @param array<string, MatchLevel> $match How the names and the date of birth of the request compare with the record: first_name,
     *     last_name and date_of_birth, of those that were given and could be compared.
     */
    public function __construct(string $reference, public readonly Record $person, public readonly array $match = [])
    {
        parent::__construct($reference, verified: true, pending: false);
    }
}
