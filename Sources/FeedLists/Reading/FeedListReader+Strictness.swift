internal import HostSystem
internal import HubProtocol
internal import OutboundHTTP
internal import Yams

/// Checks of lists that the publisher can use, but whose messages would lack something.
extension FeedListReader {
    /// Reports properties in templates that no message of a feed has.
    mutating func checkTemplates(_ members: [String: Node], _ localization: Localization) {
        guard isStrict else { return }
        let languages = [localization.main].compactMap(\.self) + localization.others
        let own = languages.flatMap { [$0.newsProperty, $0.titleProperty, $0.linkProperty] }
        let known = (FeedList.templateProperties + own).map(\.rawValue)
        let folded = Set(known.map { $0.lowercased() })
        var nodes = [members["template"]].compactMap(\.self)
        for (_, node) in members["templates"]?.mapping ?? [:] { nodes.append(node) }
        for node in nodes {
            guard let text = node.scalar?.string, let template = try? InlineTemplate(parsing: text) else { continue }
            for name in template.propertyNames.subtracting(folded).sorted() {
                let nearest = NearestName.of(name, among: known).map { "did you mean '\($0)'? " } ?? ""
                problem(
                    node,
                    "template: messages have no property '\(name)': \(nearest)known are \(known.joined(separator: ", "))"
                )
            }
        }
    }

    /// Reports addresses that the publisher refuses to connect to.
    mutating func checkAddress(_ source: FeedSource, at node: Node) {
        guard isStrict, !source.isLocal, !AddressPolicy.publicOnly.allowsByName(source.address.bareHost) else { return }
        problem(node, "feed of '\(source.address.bareHost)' is in your own network, which needs 'local: true'")
    }
}
