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

    /// Passes on the results of transfers that have ended to their receivers; others are ignored.
    static func deliver(_ transfers: [Transfer]) {
        var rest = transfers[...]
        while let first = rest.first {
            let same = rest.prefix { $0.part?.batch === first.part?.batch }
            rest = rest.dropFirst(same.count)
            first.part?.batch.receive(same.map { ($0.part?.place ?? 0, $0.response()) })
        }
    }
}

extension Transfer {
    /// Returns the complete reply after the end of the transfer.
    fileprivate func response() -> Result<OutboundResponse, OutboundError> {
        reply().map { head, body in
            OutboundResponse(status: head.status, headers: head.headers, body: body, url: url)
        }
    }
}
