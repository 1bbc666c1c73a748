/// Requests with a common plan, whose results no task waits for.
///
/// Their transfers are made on the loop's thread: memory that one thread allocates and another one frees costs the
/// allocator several times as much.
final class TransferBatch: Sendable {
    typealias Results = [(place: Int, result: Result<OutboundResponse, OutboundError>)]

    let plan: TransferPlan
    let commonHeaders: CommonHeaders
    let targets: [(place: Int, target: OutboundTarget)]
    private let receive: @Sendable (Results) -> Void

    init(
        _ plan: TransferPlan,
        _ targets: [(place: Int, target: OutboundTarget)],
        receive: @escaping @Sendable (Results) -> Void
    ) {
        self.plan = plan
        commonHeaders = CommonHeaders(plan.headers)
        self.targets = targets
        self.receive = receive
    }

    var transfers: some Sequence<Transfer> {
        targets.lazy.map { Transfer(self.plan, Transfer.Part(batch: self, place: $0.place, target: $0.target)) }
    }

    /// Passes on the same failure for all requests.
    func fail(_ error: OutboundError) { receive(targets.map { ($0.place, .failure(error)) }) }

    /// Passes on answers to their receivers, in groups of consecutive ones of a batch.
    static func deliver(_ answers: [BatchAnswer]) {
        var rest = answers[...]
        while let first = rest.first {
            let same = rest.prefix { $0.batch === first.batch }
            rest = rest.dropFirst(same.count)
            first.batch.receive(same.map { ($0.place, $0.result) })
        }
    }
}

/// The result of one request of a batch.
struct BatchAnswer {
    let batch: TransferBatch
    let place: Int
    let result: Result<OutboundResponse, OutboundError>
}

extension Transfer {
    /// The answer to a request of a batch whose transfer has ended; `nil` for any other.
    var answer: BatchAnswer? {
        part.map { BatchAnswer(batch: $0.batch, place: $0.place, result: response()) }
    }

    private func response() -> Result<OutboundResponse, OutboundError> {
        reply().map { head, body in
            OutboundResponse(status: head.status, headers: head.headers, body: body, url: url)
        }
    }
}
