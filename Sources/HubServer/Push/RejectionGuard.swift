/// Decides whether to believe a push service that rejects a handle, if a wrong environment or project would cause the
/// same answer.
///
/// A wrong endpoint must not empty a hub. Such answers remove nothing before the credential's first success, nor while
/// there are many of them.
struct RejectionGuard: Sendable {
    /// Number of latest answers that count.
    static let window = 1_000
    /// Largest share of doubtful answers at which one is believed.
    static let maximumShare = 0.05

    private var answers: [Bool] = []
    private var next = 0
    private var doubtful = 0
    private var hasSucceeded = false

    mutating func noteSuccess() {
        hasSucceeded = true
        note(isDoubtful: false)
    }

    mutating func noteOther() { note(isDoubtful: false) }

    /// - Returns: True if the answer is believed.
    mutating func noteDoubtful() -> Bool {
        note(isDoubtful: true)
        return hasSucceeded && Double(doubtful) <= Double(answers.count) * Self.maximumShare
    }

    private mutating func note(isDoubtful: Bool) {
        if answers.count < Self.window {
            answers.append(isDoubtful)
        } else {
            if answers[next] { doubtful -= 1 }
            answers[next] = isDoubtful
            next = (next + 1) % Self.window
        }
        if isDoubtful { doubtful += 1 }
    }
}
