<?php

declare(strict_types=1);

namespace Tabbat\Http;

use Tabbat\TabbatException;

/** Sends one request. It follows no redirect and repeats nothing. */
interface HttpClient
{
    /**
     * @param float $timeoutS For the request and its response; for a stream, for the head of the response. Each wait for more of a stream
     *     may take $request->waitS.
     * @throws TabbatException network_error or timeout, with no text of the request
     */
    public function send(Request $request, float $timeoutS): Response;
}
