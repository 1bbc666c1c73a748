/// Groups feeds that are polled one after another because they share a host.
enum HostLanes {
    /// Joins groups of feeds that share a host, including the host that replied last: many names may redirect to one
    /// service.
    ///
    /// Groups keep the order of their first members, and feeds their order within a group.
    static func joined<Feed>(_ groups: [[Feed]], hosts: (Feed) -> Set<String>) -> [[Feed]] {
        var parents = Array(groups.indices)
        func root(_ group: Int) -> Int {
            var group = group
            while parents[group] != group {
                parents[group] = parents[parents[group]]
                group = parents[group]
            }
            return group
        }
        var owners: [String: Int] = [:]
        for (group, feeds) in groups.enumerated() {
            for host in feeds.reduce(into: Set<String>(), { $0.formUnion(hosts($1)) }) {
                let (one, other) = (root(group), root(owners[host, default: group]))
                parents[max(one, other)] = min(one, other)
                owners[host] = min(one, other)
            }
        }
        var lanes: [Int: [Feed]] = [:]
        for (group, feeds) in groups.enumerated() { lanes[root(group), default: []] += feeds }
        return groups.indices.compactMap { lanes[$0] }
    }

    /// Sorts by rank, highest first; equal elements keep their order.
    static func sorted<Element>(_ elements: [Element], by rank: (Element) -> Int) -> [Element] {
        elements.map { (rank: rank($0), element: $0) }.sorted { $0.rank > $1.rank }.map(\.element)
    }
}
