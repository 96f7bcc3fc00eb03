<?php

declare(strict_types=1);

namespace Tabbat;

/** There is no such record, or the phone differs. */
final class NotVerified extends VerificationResult
{
    /** @internal */
    public function __construct(string $reference)
    {
        parent::__construct($reference, verified: false, pending: false);
    }
}
