package bench

import "mrlocal/workload"

// Of lists the experiments of a file that is not in the folder.
func Of(f *workload.File) ([]*Experiment, error) {
	return experiments(f, &runs{uses: map[string]int{}, done: map[string]*done{}})
}
