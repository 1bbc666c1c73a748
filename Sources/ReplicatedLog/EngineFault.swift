/// The reason why a message was not sent, or was not answered.
enum EngineFault: Error, Equatable, CustomStringConvertible {
    /// Nobody listens on the subject.
    case noResponders
    case timeout
    case disconnected
    /// The connection was closed, and is not made again.
    case closed
    case tooLarge(limit: Int)
    case answerTooLarge
    case failed(String)

    var description: String {
        switch self {
        case .noResponders: "no server answers for it; its servers may have no majority"
        case .timeout: "no answer in time; its servers may have no majority"
        case .disconnected: "the connection to its servers is lost"
        case .closed: "the connection to its servers is closed"
        case .tooLarge(let limit): "a message has more than the \(limit) bytes that its servers accept"
        case .answerTooLarge: "the answer has more bytes than a message may have"
        case .failed(let reason): reason
        }
    }
}
