<?php

declare(strict_types=1);

namespace Tabbat;

/** Verified, NotVerified or Pending: a value, not an exception. */
abstract class VerificationResult
{
    /** @internal */
    public function __construct(
        public readonly string $reference,
        public readonly bool $verified,
        public readonly bool $pending,
    ) {
    }
}
