import PushServices

extension Dictionary where Key: Sendable, Value == @Sendable () async -> PushOutcome {
    /// Makes all attempts at the same time; those without an outcome after `patience` are cancelled, and left out of the
    /// result.
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
