import Formats
import HTTPTypes
package import HubProtocol
package import Hummingbird
import NIOCore

extension Request {
    /// Reads the whole body.
    ///
    /// - Throws: 413 for more than `limit` bytes, at once if the request announces its length; ``RequestFault`` for a
    ///   body that does not arrive completely.
    package func bytes(limit: Int) async throws -> [UInt8] {
        let announced = headers[.contentLength].flatMap { Int($0) } ?? 0
        let tooLarge = ProtocolError.tooLarge("The request body is larger than \(limit) bytes.")
        guard announced <= limit else { throw tooLarge }
        let buffer: ByteBuffer
        do {
            buffer = try await body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch let fault as RequestFault {
            throw fault
        } catch let stop as CancellationError {
            throw stop
        } catch {
            // Otherwise only the connection can fail here.
            throw RequestFault.cutShort
        }
        guard buffer.readableBytes >= announced else { throw RequestFault.cutShort }
        return [UInt8](buffer.readableBytesView)
    }
}

extension RequestContext {
    /// A parameter of the path, without its percent-encoding.
    package func parameter(_ name: String) throws(ProtocolError) -> String {
        guard let text = PercentEncoding.decode(parameters.get(name) ?? "") else {
            throw .badRequest("The path is not valid percent-encoding.")
        }
        return text
    }
}
