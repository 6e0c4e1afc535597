#if canImport(Glibc)
    import Glibc
#endif

/// Which inputs go to which model: `--only MODEL=PATTERN`. A model that is not named takes all that it can read.
public struct InputRoutes: Sendable {
    private let patterns: [String: [String]]
    private let inputs: [String]

    /// - Parameters:
    ///   - only: id of a model, `=`, and a pattern of the shell's kind in which `*` goes across folders.
    ///   - inputs: as they were named, so that a pattern can begin with the last part of one.
    public init(only: [String] = [], inputs: [String] = []) {
        var patterns: [String: [String]] = [:]
        for word in only {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { patterns[String(parts[0]), default: []].append(String(parts[1])) }
        }
        self.patterns = patterns
        self.inputs = inputs
    }

    /// Why `model` is not to see the input; nil when it is.
    ///
    /// A pattern is held against the last part of the path, the path below the input that was named, that path with the
    /// input's own last part in front, and, if it begins with a slash, the whole path.
    package func objection(of model: String, to path: String) -> String? {
        guard let patterns = patterns[model] else { return nil }
        let names = names(of: path)
        let fits = patterns.contains { pattern in
            names.contains { fnmatch(pattern, $0, 0) == 0 }
                || (pattern.hasPrefix("/") && fnmatch(pattern, path, 0) == 0)
        }
        return fits ? nil : "\(model) takes only \(patterns.joined(separator: ", "))"
    }

    private func names(of path: String) -> [String] {
        var names = [lastPart(path[...])]
        for input in inputs {
            if path == input {
                // A file that was named itself: with its folder's name, as if that had been.
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
