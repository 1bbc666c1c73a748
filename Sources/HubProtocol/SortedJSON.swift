package import Foundation

extension JSONEncoder {
    /// An encoder of our own shapes: members in the order of their names, so that equal values give equal bytes.
    package static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }
}
