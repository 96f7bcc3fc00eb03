<?php

declare(strict_types=1);

namespace Tabbat;

use Generator;
use Tabbat\Internal\Call;
use Tabbat\Internal\Transport;
use Tabbat\Internal\Verification;

final class Batches
{
    private const PATH = '/api/v2/kyc/batches';

    /** @internal */
    public function __construct(private readonly Transport $transport)
    {
    }

    /**
     * Sends up to 50 000 rows. Refused rows are in $batch['refusals'] and do not stop the others.
     *
     * @param iterable<array<string, string>> $rows With operation (verify_nin or verify_bvn), nin or bvn, phone, and more: see the API.
     * @param ?string $idempotencyKey Without it, each call makes its own. The same key and rows get the same batch.
     * @throws TabbatException
     */
    public function create(#[\SensitiveParameter] iterable $rows, ?string $idempotencyKey = null, ?float $timeoutS = null): Record
    {
        $rows = is_array($rows) ? array_values($rows) : iterator_to_array($rows, false);
        $sent = [];
        foreach ($rows as $row) {
            $sent[] = is_array($row) ? Verification::listPersonal($row) : throw TabbatException::invalidArgument('A row of a batch must be an array.');
        }
        return $this->transport->send(new Call(
            'POST',
            self::PATH,
            $timeoutS,
            Verification::toPostHeaders($idempotencyKey),
            body: Verification::toJson($rows),
            sent: array_merge([], ...$sent),
            isLarge: true,
        ))->record();
    }

    /**
     * How far it is.
     *
     * @throws TabbatException
     */
    public function get(string $batchId, ?float $timeoutS = null): Record
    {
        return $this->transport->send(new Call('GET', self::toPath($batchId), $timeoutS))->record();
    }

    /**
     * All rows in the order in which they were sent, as they arrive, also those that have not ended. $timeoutS is for each wait for further
     * rows.
     *
     * @return Generator<int, Record>
     * @throws TabbatException
     */
    public function results(string $batchId, ?float $timeoutS = null): Generator
    {
        $headers = ['accept' => 'application/x-ndjson'];
        return $this->transport->stream(new Call('GET', self::toPath($batchId) . '/results', $timeoutS, $headers, isStream: true));
    }

    /**
     * Cancels the rows that have not begun.
     *
     * @throws TabbatException
     */
    public function cancel(string $batchId, ?float $timeoutS = null): Record
    {
        return $this->transport->send(new Call('DELETE', self::toPath($batchId), $timeoutS))->record();
    }

    private static function toPath(string $batchId): string
    {
        if (preg_match('/^bat_[A-Za-z0-9_]+$/D', $batchId)) {
            return self::PATH . "/$batchId";
        }
        throw TabbatException::invalidArgument('batchId must be the id of a batch: bat_…');
    }
}
