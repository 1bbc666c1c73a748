import PushServices

extension Dictionary where Key: Sendable, Value == @Sendable () async -> PushOutcome {
    /// Makes all attempts at once; those that have no outcome after `patience` are cancelled, and have none here.
    func outcomes(within patience: Duration) async -> [Key: PushOutcome] {
        await withTaskGroup(of: (Key, PushOutcome)?.self) { group in
            for (key, attempt) in self { group.addTask { (key, await attempt()) } }
            group.addTask {
                try? await Task.sleep(for: patience)
                return nil
            }
            var outcomes: [Key: PushOutcome] = [:]
            while outcomes.count < count, case (let key, let outcome)?? = await group.next() {
                outcomes[key] = outcome
            }
            group.cancelAll()
            return outcomes
        }
    }
}
