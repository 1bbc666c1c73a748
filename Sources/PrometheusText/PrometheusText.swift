/// A page of metrics in the text format that Prometheus reads.
///
/// Source: Prometheus "Exposition formats", text-based format 0.0.4.
package struct PrometheusText: Sendable {
    /// The page's media type.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package enum Kind: String, Sendable {
        /// Only grows while the program runs.
        case counter
        case gauge
    }

    /// One value, with the labels that tell it from others of its name.
    package struct Sample: Sendable {
        let labels: KeyValuePairs<String, String>
        let value: Double

        package init(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
            self.labels = labels
            self.value = value
        }

        package init(_ value: some BinaryInteger, _ labels: KeyValuePairs<String, String> = [:]) {
            self.init(Double(value), labels)
        }
    }

    /// A metric with its samples, as a table lists it.
    package typealias Metric = (name: String, kind: Kind, help: String, samples: [Sample])

    package private(set) var text = ""

    package init(_ metrics: [Metric] = []) { add(metrics) }

    /// Adds the metrics in their order.
    package mutating func add(_ metrics: [Metric]) {
        for (name, kind, help, samples) in metrics { add(name, kind, help, samples) }
    }

    /// Adds a metric; without samples it is left out.
    ///
    /// - Parameters:
    ///   - name: Letters, digits and `_`; counters end in `_total`, and the name contains the base unit.
    ///   - kind: What its value does over time.
    ///   - help: One sentence.
    ///   - samples: Each with other labels; all with the same label names.
    package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += name
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { "\($0.key)=\"\(Self.escaped($0.value, quotes: true))\"" }
                text += "{\(labels.joined(separator: ","))}"
            }
            text += " \(Self.number(sample.value))\n"
        }
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        // On scalars: a quotation mark with a combining mark behind it is one Character and not equal to `"`.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += #"\\"#
            case "\n": escaped += #"\n"#
            case "\"" where quotes: escaped += #"\""#
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}
