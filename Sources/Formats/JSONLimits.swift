/// The limits for reading a JSON text.
package struct JSONLimits: Sendable, Equatable {
    /// Maximum length of the text, in bytes.
    package let bytes: Int
    /// Maximum number of arrays and objects that contain each other.
    package let depth: Int
    /// Maximum number of values: two bytes of text can be a value, which is a node of 32 bytes.
    package let values: Int

    package init(bytes: Int, depth: Int, values: Int) {
        self.bytes = bytes
        self.depth = depth
        self.values = values
    }

    /// Text from outside this process: from servers, clients, hubs, push services and files.
    ///
    /// A feed of five thousand items has 10 MB and 100,000 values.
    package static let foreign = JSONLimits(bytes: 16 << 20, depth: 64, values: 500_000)

    /// Text that this program stored or replicated: earlier versions accepted 512 levels.
    package static let stored = JSONLimits(bytes: 64 << 20, depth: 512, values: 4_000_000)
}
