import HTTPTypes
import Synchronization

/// Passes a connection from an application to a stream of the hub.
///
/// The application decides about the first request of the connection, and passes it on as a request to the hub. The
/// stream then gets the bare connection, as an agent's stream does, instead of a response's body.
final class StreamHandover: Sendable {
    /// The handover of the request that is being answered; `nil` if a stream must be the body of the response.
    @TaskLocal static var current: StreamHandover?

    private let passedOn = Mutex<HTTPRequest?>(nil)

    /// The request for a stream of the hub; `nil` if the application has refused.
    var request: HTTPRequest? { passedOn.withLock { $0 } }

    func pass(_ request: HTTPRequest) { passedOn.withLock { $0 = request } }
}
