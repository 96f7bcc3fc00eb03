<?php

declare(strict_types=1);

namespace Tabbat;

/** Neither of both yet: ask again with $tabbat->pending->get($reference). */
final class Pending extends VerificationResult
{
    /** @internal */
    public function __construct(string $reference)
    {
        parent::__construct($reference, verified: false, pending: true);
    }
}
