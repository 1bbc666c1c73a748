import SQLiteFiles

/// Passes the rows of the inbox to the handler: in order, one at a time, each until it is done or has failed.
struct HandlerWorker: Sendable {
    enum Ending: Sendable, Equatable {
        case stopped
        case outputClosed
    }

    let store: AgentStore
    let patience: PatientRetry<DatabaseFileError>
    let flow: InboxFlow
    let runner: HandlerRunner
    let limits: HandlerLimits
    let environment: AgentEnvironment

    /// Runs until the task is cancelled, and then until the handler in progress has ended (``HandlerLimits/drain``).
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError`` if the database can no longer be used.
    func run() async throws(DatabaseFileError) -> Ending {
        let delivery = PatientRetry<HandlerFailure>(
            environment: environment,
            consequence: "messages wait in the inbox",
            recovery: "messages are passed on again"
        )
        var settlement: AgentStore.Settlement?
        while true {
            if Task.isCancelled {
                // If the disk is full now, the row is delivered again later; waiting would delay the stop.
                if let settlement { try? await store.settle(settlement) }
                return .stopped
            }
            let record: InboxRecord?
            do {
                record = try await patience.perform { [settlement] () async throws(DatabaseFileError) in
                    try await store.startNext(settling: settlement)
                }
            } catch {
                if Task.isCancelled { continue }
                throw error
            }
            if case .done = settlement { flow.settled() }
            if case .failed = settlement { flow.settled() }
            settlement = nil
            guard let record else {
                await flow.waitForArrivals()
                continue
            }
            // What is shown depends on the number of waiting rows, which is known once the hub has sent all pending
            // messages.
            if runner.desktop != nil { await flow.waitUntilCaughtUp() }
            if Task.isCancelled {
                settlement = .released(record.ordinal)
                continue
            }
            do {
                try await delivery.perform { () async throws(HandlerFailure) in try await perform(record) }
                settlement = .done(record.ordinal)
            } catch {
                switch error {
                case .stopped:
                    return .stopped
                case .outputClosed:
                    try? await store.settle(.released(record.ordinal))
                    return .outputClosed
                case .blocked, .outputStalled:
                    // The agent was stopped while it waited.
                    settlement = .released(record.ordinal)
                case .timedOut, .failed:
                    settlement = await failed(record, error.reason)
                }
            }
        }
    }

    /// Runs the handler in a task that a stop of the agent does not cancel before ``HandlerLimits/drain`` has passed.
    private func perform(_ record: InboxRecord) async throws(HandlerFailure) {
        let work = Task { () async -> HandlerFailure? in
            do throws(HandlerFailure) {
                try await runner.run(record, waiting: flow.others)
                return nil
            } catch {
                return error
            }
        }
        let failure = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            Task {
                try? await environment.sleep(limits.drain)
                work.cancel()
            }
        }
        if let failure { throw failure }
    }

    private func failed(_ record: InboxRecord, _ reason: String) async -> AgentStore.Settlement {
        let failures = record.failures + 1
        guard failures < limits.tries else {
            environment.reporter.warning("message '\(record.id)' failed after \(failures) tries: \(reason)")
            return .failed(record.ordinal, reason: reason)
        }
        try? await environment.sleep(limits.waits[failures - 1])
        return .retrying(record.ordinal, reason: reason)
    }
}
