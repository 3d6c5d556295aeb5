package main

import "slices"

// median returns the middle of some values, and 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// spread is the median of a figure over the rounds, with the least and the greatest.
type spread struct{ median, min, max float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	return spread{median(values), slices.Min(values), slices.Max(values)}
}

// ratio returns how many times over is as much as under: the ratio of the medians, and the least and the greatest of
// the ratios within one round.
func ratio(over, under []float64) spread {
	rounds := make([]float64, 0, len(over))
	for i := range min(len(over), len(under)) {
		if under[i] > 0 {
			rounds = append(rounds, over[i]/under[i])
		}
	}
	result := spreadOf(rounds)
	if m := median(under); m > 0 {
		result.median = median(over) / m
	}
	return result
}
