package slots

import "mrlocal/internal/order"

// Ranking is the ordering a policy keeps: ids by key, the least first.
type Ranking[K any] = order.Ranking[K]
