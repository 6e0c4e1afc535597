import NocturneCore

extension Discovery {
    /// What several recipes found below the same inputs, as one.
    ///
    /// A file of a kind that only some recipes know is theirs alone; one that none knows is told once, with what each
    /// would have taken. Where several models work on one source, the model is part of the key and of the name.
    package static func merged(_ each: [Discovery]) -> Discovery {
        var strangers: [String: (recipes: Set<Int>, reasons: [String])] = [:]
        var models: [String: Set<String>] = [:]
        for (recipe, discovery) in each.enumerated() {
            for item in discovery.items {
                if case .unknown(let reason) = item.problem {
                    var known = strangers[item.path] ?? ([], [])
                    if !known.reasons.contains(reason) { known.reasons.append(reason) }
                    known.recipes.insert(recipe)
                    strangers[item.path] = known
                } else {
                    models[item.key, default: []].insert(item.model)
                }
            }
        }
        var merged = Discovery(notes: unique(each.flatMap(\.notes)))
        var told: Set<String> = []
        for (recipe, discovery) in each.enumerated() {
            for var item in discovery.items {
                item.recipe = recipe
                if case .unknown = item.problem {
                    guard let stranger = strangers[item.path], stranger.recipes.count == each.count,
                        told.insert(item.path).inserted
                    else { continue }
                    item.problem = .setAside(stranger.reasons.joined(separator: "; "))
                } else if let several = models[item.key], several.count > 1 {
                    item.key += "|" + item.model
                    item.name += "@" + item.model
                }
                merged.items.append(item)
            }
        }
        return merged
    }

    private static func unique(_ notes: [String]) -> [String] {
        var seen: Set<String> = []
        return notes.filter { seen.insert($0).inserted }
    }
}
