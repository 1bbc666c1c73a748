@testable import HubProtocol

/// Testing has a `Tag` of its own.
typealias Tag = HubProtocol.Tag

extension String {
    var bytes: [UInt8] { Array(utf8) }
}
