import Glibc
package import NocturneSystem

/// Which inputs go to which model: `--only MODEL=PATTERN`. A model without a pattern processes all that it can read.
public struct InputRoutes: Sendable {
    private let patterns: [String: [String]]
    private let inputs: [String]

    /// - Parameters:
    ///   - only: id of a model, `=`, and a shell pattern in which `*` also matches slashes.
    ///   - inputs: as the user gave them, so that a pattern can start with the last part of one.
    public init(only: [String] = [], inputs: [String] = []) {
        var patterns: [String: [String]] = [:]
        for word in only {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { patterns[String(parts[0]), default: []].append(String(parts[1])) }
        }
        self.patterns = patterns
        self.inputs = inputs
    }

    /// As `MODEL=PATTERN`, in no order.
    package var all: Set<String> { Set(patterns.flatMap { model, own in own.map { "\(model)=\($0)" } }) }

    /// Whether every model processes all inputs that it can read.
    package var isEmpty: Bool { patterns.isEmpty }

    /// Why `model` must not process an input that matches none of its patterns; nil for a model without patterns, which may.
    package func objection(of model: String) -> Sentence? {
        guard let patterns = patterns[model] else { return nil }
        return "does not match --only \(own: model)=\(patterns.joined(separator: ", "))"
    }

    /// The options that the input matches, as `MODEL=PATTERN`.
    ///
    /// A pattern is compared with the last part of the path, the path below the input that was given, that path with the
    /// input's own last part in front, and, if it starts with a slash, the whole path.
    package func matching(_ model: String, _ path: String) -> [String] {
        guard let patterns = patterns[model] else { return [] }
        let names = names(of: path)
        return patterns.filter { pattern in
            // Without FNM_PATHNAME, so that `*` also matches slashes.
            names.contains { fnmatch(pattern, $0, 0) == 0 }
                || (pattern.hasPrefix("/") && fnmatch(pattern, path, 0) == 0)
        }.map { "\(model)=\($0)" }
    }

    private func names(of path: String) -> [String] {
        var names = [lastPart(path[...])]
        for input in inputs {
            if path == input {
                // A file that was given itself: with its folder's name, as if the folder had been given.
                let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
                names.append(lastPart(folder) + "/" + lastPart(path[...]))
            } else if path.hasPrefix(input.hasSuffix("/") ? input : input + "/") {
                let below = String(path.dropFirst(input.count).drop { $0 == "/" })
                names += [below, lastPart(input[...]) + "/" + below]
            }
        }
        return names
    }

    private func lastPart(_ path: Substring) -> String {
        String(path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path)
    }
}
