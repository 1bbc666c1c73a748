internal import FoundationEssentials

extension FeedLists {
    /// Values that change when a list of a directory is written, added or removed.
    package static func fingerprint(directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { !$0.hasPrefix(".") && ($0.hasSuffix(".yaml") || $0.hasSuffix(".yml")) }.sorted().map {
            name in
            let facts = (try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")) ?? [:]
            let parts = [FileAttributeKey.systemFileNumber, .size, .modificationDate].map { key in
                (facts[key] as? Date).map { "\($0.timeIntervalSince1970)" } ?? facts[key].map { "\($0)" } ?? ""
            }
            return "\(name) \(parts.joined(separator: " "))"
        }
    }
}
